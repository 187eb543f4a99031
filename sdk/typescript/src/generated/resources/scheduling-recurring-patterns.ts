// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingRecurringPatterns extends Resource {
  /**
   * List recurring patterns.
   *
   * All recurring patterns, newest first.
   */
  list(options?: RequestOptions): List<api.RecurringPattern> {
    return this.transport.list(sdk.listRecurringPatterns, {}, 'recurringPatterns', options);
  }

  /**
   * Create a recurring pattern.
   *
   * A recurring pattern closes the calendars of all hosts at repeated times, or with `blockType: "available"`
   * opens them beyond the weekly hours. The plan limits how many there are.
   */
  create(body: NonNullable<api.CreateRecurringPatternData['body']>, options?: RequestOptions): Promise<api.RecurringPattern> {
    return this.transport.call(sdk.createRecurringPattern, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve a recurring pattern.
   *
   * Returns the pattern.
   */
  get(id: string, options?: RequestOptions): Promise<api.RecurringPattern> {
    return this.transport.call(sdk.getRecurringPattern, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Delete a recurring pattern.
   *
   * Existing bookings stay.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteRecurringPatternResponse>> {
    return this.transport.call(sdk.deleteRecurringPattern, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * List the occurrences of a recurring pattern.
   *
   * Stores nothing. Occurrences are in the zone of the default host; a time that a clock change skips is moved
   * forward. The phase depends on `startDate`, not on `fromDate`.
   */
  generate(id: string, body?: NonNullable<api.GenerateOccurrencesData['body']>, options?: RequestOptions): Promise<Data<api.GenerateOccurrencesResponse>> {
    return this.transport.call(sdk.generateOccurrences, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }
}
