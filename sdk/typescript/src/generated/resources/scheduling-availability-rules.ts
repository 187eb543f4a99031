// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingAvailabilityRules extends Resource {
  /**
   * Retrieve the weekly hours of a host.
   *
   * The default is Monday to Friday, 9 to 17, UTC.
   */
  get(query?: api.GetAvailabilityRulesData['query'], options?: RequestOptions): Promise<api.AvailabilityRules> {
    return this.transport.call(sdk.getAvailabilityRules, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Set the weekly hours of a host.
   *
   * Replaces the weekly hours. A minute is open when the local time of the host is inside a range: times that a
   * clock change skips do not exist, and repeated ones are open twice.
   */
  put(body: NonNullable<api.PutAvailabilityRulesData['body']>, options?: RequestOptions): Promise<api.AvailabilityRules> {
    return this.transport.call(sdk.putAvailabilityRules, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
