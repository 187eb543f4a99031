// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsLinkedin extends Resource {
  /**
   * Reads the profile of a person.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  viewProfile(body: NonNullable<api.LinkedinViewProfileData['body']>, options?: RequestOptions): Promise<api.LinkedinViewProfileResult> {
    return this.transport.call(sdk.linkedinViewProfile, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Invites a person to connect, now or later.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  sendConnection(body: NonNullable<api.LinkedinSendConnectionData['body']>, options?: RequestOptions): Promise<api.LinkedinSendConnectionResult | api.ScheduledAction> {
    return this.transport.call(sdk.linkedinSendConnection, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
