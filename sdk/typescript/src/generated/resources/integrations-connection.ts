// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsConnection extends Resource {
  /**
   * Disconnect an integration.
   *
   * Ends the access to the account. Webhooks of the integration stay, but receive nothing until it is connected
   * again. An integration that is not connected is answered with 409 `not_connected`.
   */
  delete(integrationId: string, options?: RequestOptions): Promise<Data<api.DisconnectIntegrationResponse>> {
    return this.transport.call(sdk.disconnectIntegration, { path: { integrationId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
