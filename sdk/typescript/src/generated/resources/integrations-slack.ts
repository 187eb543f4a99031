// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsSlack extends Resource {
  /**
   * Posts a message to a channel.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  sendMessage(body: NonNullable<api.SlackSendMessageData['body']>, options?: RequestOptions): Promise<api.SlackSendMessageResult> {
    return this.transport.call(sdk.slackSendMessage, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Opens a modal for a person who just used a shortcut, a button or a command.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  openModal(body: NonNullable<api.SlackOpenModalData['body']>, options?: RequestOptions): Promise<api.SlackOpenModalResult> {
    return this.transport.call(sdk.slackOpenModal, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
