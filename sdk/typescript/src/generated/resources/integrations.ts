// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { IntegrationsConnection } from './integrations-connection.ts';
import { IntegrationsSlack } from './integrations-slack.ts';
import { IntegrationsMicrosoftTeams } from './integrations-microsoft-teams.ts';
import { IntegrationsHubspot } from './integrations-hubspot.ts';
import { IntegrationsSalesforce } from './integrations-salesforce.ts';
import { IntegrationsLinkedin } from './integrations-linkedin.ts';
import { IntegrationsActionRuns } from './integrations-action-runs.ts';
import { IntegrationsWebhooks } from './integrations-webhooks.ts';

export class Integrations extends Resource {
  readonly connection = new IntegrationsConnection(this.transport);
  readonly slack = new IntegrationsSlack(this.transport);
  readonly microsoftTeams = new IntegrationsMicrosoftTeams(this.transport);
  readonly hubspot = new IntegrationsHubspot(this.transport);
  readonly salesforce = new IntegrationsSalesforce(this.transport);
  readonly linkedin = new IntegrationsLinkedin(this.transport);
  readonly actionRuns = new IntegrationsActionRuns(this.transport);
  readonly webhooks = new IntegrationsWebhooks(this.transport);

  /**
   * Connect an integration.
   *
   * Send the owner of the account to `authUrl`. The integration is connected when the owner grants access; an
   * earlier connection stays until then. Several requests may be open at the same time. In the sandbox `authUrl`
   * grants access at once, and with `&deny=true` it refuses. With a live key, an integration that this
   * installation has not configured is answered with 503 `provider_not_configured`.
   */
  connect(integrationId: string, body?: NonNullable<api.ConnectIntegrationData['body']>, options?: RequestOptions): Promise<api.Consent> {
    return this.transport.call(sdk.connectIntegration, { path: { integrationId }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * List integrations.
   *
   * Every integration, connected or not.
   */
  list(options?: RequestOptions): List<api.Integration> {
    return this.transport.list(sdk.listIntegrations, {}, 'integrations', options);
  }

  /**
   * Test an integration.
   *
   * Verifies the connection with a request to the provider. An integration that is not connected is answered with
   * 409 `not_connected`. If the request fails, `success` is false and `details` says why.
   */
  test(integrationId: string, options?: RequestOptions): Promise<api.IntegrationTestResult> {
    return this.transport.call(sdk.testIntegration, { path: { integrationId } }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Trigger an event in the sandbox.
   *
   * Delivers an event to the webhooks that subscribe to it, as if the provider had sent it. The body is the
   * `data` of the event. With a live key the answer is 404 `not_found`.
   */
  trigger(integrationId: string, event: string, body: NonNullable<api.TriggerIntegrationEventData['body']>, options?: RequestOptions): Promise<Data<api.TriggerIntegrationEventResponse>> {
    return this.transport.call(sdk.triggerIntegrationEvent, { path: { integrationId, event }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
