// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { WebhooksDeliveries } from './webhooks-deliveries.ts';

export class Webhooks extends Resource {
  readonly deliveries = new WebhooksDeliveries(this.transport);

  /**
   * Retrieve a webhook.
   *
   * Returns the webhook with its custom headers and its health, without its secret.
   */
  get(id: string, options?: RequestOptions): Promise<api.WebhookDetail> {
    return this.transport.call(sdk.getWebhook, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Update a webhook.
   *
   * Only the given fields change. `headers` is replaced as a whole. To change the secret, use `rotate-secret`. A
   * change of `signature` creates new keys at once, and earlier keys no longer sign. The fields `filter`,
   * `payload`, `signature` and `ordering` of a webhook of an integration cannot be changed.
   */
  update(id: string, body: NonNullable<api.UpdateWebhookData['body']>, options?: RequestOptions): Promise<api.ChangedWebhook> {
    return this.transport.call(sdk.updateWebhook, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete a webhook.
   *
   * Deletes the webhook and its delivery log. Pending deliveries are discarded.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteWebhookResponse>> {
    return this.transport.call(sdk.deleteWebhook, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * List webhooks.
   *
   * Newest first, without their secrets. Where the answer would have more than 2 MiB, the largest `headers` are
   * `{"$ref"}`: the path of their webhook, whose answer has them.
   */
  list(query?: api.ListWebhooksData['query'], options?: RequestOptions): List<api.Webhook> {
    return this.transport.list(sdk.listWebhooks, { query }, 'webhooks', options);
  }

  /**
   * Create a webhook.
   *
   * Sends events to a URL of yours. Deliveries are signed with the returned secret, which is shown once, or with
   * a private key whose `publicKey` every answer has. The plan says how many webhooks there can be, those of
   * scheduling and of integrations included; one more is answered with 403 `forbidden`.
   */
  create(body: NonNullable<api.CreateWebhookData['body']>, options?: RequestOptions): Promise<api.CreatedWebhook> {
    return this.transport.call(sdk.createWebhook, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Rotate the signing secret of a webhook.
   *
   * Returns a new secret, which is shown once. For 24 hours deliveries are signed with the previous secret too,
   * even if the secret is rotated again meanwhile; at most the three newest secrets sign. With `signature:
   * ed25519` the private key is replaced, and `publicKey` is returned.
   */
  rotateSecret(id: string, options?: RequestOptions): Promise<Data<api.RotateWebhookSecretResponse>> {
    return this.transport.call(sdk.rotateWebhookSecret, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve the statistics of a webhook.
   *
   * The results and durations of attempts, in total and over time. Tests and examples do not count. An attempt
   * counts at the time of its end. The last point is the current one, and the totals cover all points.
   */
  stats(id: string, query?: api.GetWebhookStatsData['query'], options?: RequestOptions): Promise<api.WebhookStatistics> {
    return this.transport.call(sdk.getWebhookStats, { path: { id }, query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Send a test event.
   *
   * Sends an event of type `test.webhook` to this webhook, whatever events it subscribes to. An inactive webhook
   * is answered with 409 `conflict`.
   */
  test(id: string, options?: RequestOptions): Promise<Data<api.TestWebhookResponse>> {
    return this.transport.call(sdk.testWebhook, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Send the example of an event type.
   *
   * Sends the published example of an event type to this webhook, whatever it subscribes to. The delivery is
   * marked with `isTest`; the body is not. An inactive webhook is answered with 409 `conflict`.
   */
  sendExample(id: string, body: NonNullable<api.SendWebhookExampleData['body']>, options?: RequestOptions): Promise<Data<api.SendWebhookExampleResponse>> {
    return this.transport.call(sdk.sendWebhookExample, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Recover missed deliveries.
   *
   * Replays all deliveries dead-lettered since a time, and delivers the events that were not sent because the
   * webhook was inactive. Events whose content was removed are skipped. `until`, `eventTypes` and `statusClass`
   * narrow the selection. The first deliveries are queued at once and the others soon after the answer. Answered
   * with 409 `conflict` while the webhook is inactive.
   */
  recover(id: string, body: NonNullable<api.RecoverDeliveriesData['body']>, options?: RequestOptions): Promise<Data<api.RecoverDeliveriesResponse>> {
    return this.transport.call(sdk.recoverDeliveries, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
