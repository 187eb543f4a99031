// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingBusinessHours extends Resource {
  /**
   * Retrieve the business hours.
   *
   * The business hours apply to all hosts. An exception that names a host applies to that host alone.
   */
  get(options?: RequestOptions): Promise<api.BusinessHours> {
    return this.transport.call(sdk.getBusinessHours, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Set the business hours.
   *
   * Replaces the business hours as a whole. A host can be booked when its weekly hours and these are both open.
   */
  put(body: NonNullable<api.PutBusinessHoursData['body']>, options?: RequestOptions): Promise<api.BusinessHours> {
    return this.transport.call(sdk.putBusinessHours, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
