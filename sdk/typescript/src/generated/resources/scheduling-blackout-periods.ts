// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingBlackoutPeriods extends Resource {
  /**
   * List blackout periods.
   *
   * All blackout periods, newest first.
   */
  list(options?: RequestOptions): List<api.BlackoutPeriod> {
    return this.transport.list(sdk.listBlackoutPeriods, {}, 'blackoutPeriods', options);
  }

  /**
   * Create a blackout period.
   *
   * During a blackout period no host can be booked, or only the host `hostId` cannot. Existing bookings stay. The
   * plan limits how many there are. More than 1.5 MiB of them are answered with 409 `conflict`.
   */
  create(body: NonNullable<api.CreateBlackoutPeriodData['body']>, options?: RequestOptions): Promise<api.BlackoutPeriod> {
    return this.transport.call(sdk.createBlackoutPeriod, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve a blackout period.
   *
   * Returns the blackout period.
   */
  get(id: string, options?: RequestOptions): Promise<api.BlackoutPeriod> {
    return this.transport.call(sdk.getBlackoutPeriod, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Delete a blackout period.
   *
   * Its time can be booked again.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteBlackoutPeriodResponse>> {
    return this.transport.call(sdk.deleteBlackoutPeriod, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
