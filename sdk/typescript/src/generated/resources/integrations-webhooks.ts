// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsWebhooks extends Resource {
  /**
   * List the webhooks of an integration.
   *
   * All webhooks of the integration, newest first, without their secrets.
   */
  list(integrationId: string, options?: RequestOptions): List<api.IntegrationWebhook> {
    return this.transport.list(sdk.listIntegrationWebhooks, { path: { integrationId } }, 'webhooks', options);
  }

  /**
   * Create a webhook for an event of an integration.
   *
   * Sends an event of the integration to your URL while the integration is connected. The body of a delivery is
   * `{id, type, timestamp, integration, data, signature}`: `signature` is `sha256=` and the HMAC-SHA256 in
   * hexadecimal of the same JSON without that member, with the whole secret as key. The headers are those of
   * every webhook. The operations below `/webhooks/{id}` change and test it, rotate its secret, and show and
   * replay its deliveries. The list of webhooks omits it. It counts toward the webhooks that the plan includes;
   * one more is answered with 403 `forbidden`.
   */
  create(integrationId: string, body: NonNullable<api.CreateIntegrationWebhookData['body']>, options?: RequestOptions): Promise<api.CreatedIntegrationWebhook> {
    return this.transport.call(sdk.createIntegrationWebhook, { path: { integrationId }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Delete a webhook of an integration.
   *
   * Deletes the webhook and its delivery log. Pending deliveries are discarded.
   */
  delete(integrationId: string, webhookId: string, options?: RequestOptions): Promise<Data<api.DeleteIntegrationWebhookResponse>> {
    return this.transport.call(sdk.deleteIntegrationWebhook, { path: { integrationId, webhookId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
