// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class IntegrationsSalesforce extends Resource {
  /**
   * Creates a lead. Other fields of it are named as in the API, such as LeadSource or Region__c.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  createLead(body: NonNullable<api.SalesforceCreateLeadData['body']>, options?: RequestOptions): Promise<api.SalesforceCreateLeadResult> {
    return this.transport.call(sdk.salesforceCreateLead, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Runs a query in SOQL, or reads the next records of one.
   *
   * A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at
   * most 5 seconds in all. If an answer was lost the outcome is `unknown`: the provider may have performed the
   * action, and no request is repeated. Disconnecting does not cancel an action: the same Idempotency-Key returns
   * its answer for 24 hours. After a failure the key can be used again, unless the outcome is `unknown`.
   *
   * In the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,
   * `sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.
   */
  query(body: NonNullable<api.SalesforceQueryData['body']>, options?: RequestOptions): Promise<api.SalesforceQueryResult> {
    return this.transport.call(sdk.salesforceQuery, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
