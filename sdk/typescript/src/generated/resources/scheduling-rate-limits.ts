// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingRateLimits extends Resource {
  /**
   * Retrieve the limits on bookings.
   *
   * The limits for all hosts, or the additional ones of the host `hostId`. Null means no limit.
   */
  get(query?: api.GetBookingLimitsData['query'], options?: RequestOptions): Promise<api.BookingLimits> {
    return this.transport.call(sdk.getBookingLimits, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Set the limits on bookings.
   *
   * Replaces all limits: an omitted one means no limit. Existing bookings stay. With `hostId` the limits apply to
   * one host, in addition to those for all hosts: the stricter one decides.
   */
  put(body: NonNullable<api.PutBookingLimitsData['body']>, options?: RequestOptions): Promise<api.BookingLimits> {
    return this.transport.call(sdk.putBookingLimits, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Check the limits on bookings for a day.
   *
   * How many more bookings of an event type the limits allow.
   */
  check(query: api.CheckBookingLimitsData['query'], options?: RequestOptions): Promise<api.BookingLimitCheck> {
    return this.transport.call(sdk.checkBookingLimits, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
