// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsHubspot extends Resource {
  /**
   * Creates a contact.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  createContact(body: NonNullable<api.HubspotCreateContactData['body']>, options?: RequestOptions): Promise<api.HubspotCreateContactResult> {
    return this.transport.call(sdk.hubspotCreateContact, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Changes properties of a contact.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  updateContact(body: NonNullable<api.HubspotUpdateContactData['body']>, options?: RequestOptions): Promise<api.HubspotUpdateContactResult> {
    return this.transport.call(sdk.hubspotUpdateContact, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
