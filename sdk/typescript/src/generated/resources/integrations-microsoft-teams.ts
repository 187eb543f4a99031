// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsMicrosoftTeams extends Resource {
  /**
   * Posts a message to a channel, as the person who connected the account.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  sendMessage(body: NonNullable<api.MicrosoftTeamsSendMessageData['body']>, options?: RequestOptions): Promise<api.MicrosoftTeamsSendMessageResult> {
    return this.transport.call(sdk.microsoftTeamsSendMessage, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
