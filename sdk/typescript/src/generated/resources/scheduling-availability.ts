// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { SchedulingAvailabilityRules } from './scheduling-availability-rules.ts';

export class SchedulingAvailability extends Resource {
  readonly rules = new SchedulingAvailabilityRules(this.transport);

  /**
   * List the times of an event type.
   *
   * The times at which a booking could start, one duration apart from the beginning of each open range of the
   * host. A time belongs to the day on which it starts in `timezone`. An inactive event type has none. The last
   * day is 9999-12-30 (UTC). A request for days with more than 10,000 times is refused; `details.longestEnd` is
   * then the last allowed `end`.
   */
  get(query: api.GetAvailabilityData['query'], options?: RequestOptions): Promise<api.Availability> {
    return this.transport.call(sdk.getAvailability, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
