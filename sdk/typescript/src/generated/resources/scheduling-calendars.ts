// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { SchedulingCalendarsSandbox } from './scheduling-calendars-sandbox.ts';

export class SchedulingCalendars extends Resource {
  readonly sandbox = new SchedulingCalendarsSandbox(this.transport);

  /**
   * Connect a calendar.
   *
   * Send the owner of the account to `authUrl`. The primary calendar is connected, and its first sync begins,
   * when the owner agrees; connecting the same account again renews it. Several requests may be open at the same
   * time. In the sandbox no consent is needed. A live key whose service is not configured is answered with 503
   * `provider_not_configured`.
   */
  connect(body: NonNullable<api.ConnectCalendarData['body']>, options?: RequestOptions): Promise<api.Consent> {
    return this.transport.call(sdk.connectCalendar, { body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * List calendars.
   *
   * The connected calendars of all hosts, newest first. Their events block the time of their hosts, and bookings
   * are written into the oldest calendar of a host. Where the answer would have more than 2 MiB, long names and
   * messages of errors are cut.
   */
  list(options?: RequestOptions): List<api.Calendar> {
    return this.transport.list(sdk.listCalendars, {}, 'calendars', options);
  }

  /**
   * Sync a calendar.
   *
   * Starts a sync of the calendar now. While one is running, another one follows it. A calendar that has to be
   * connected again is answered with 409 `conflict`, with its `status` in `details`.
   */
  sync(id: string, options?: RequestOptions): Promise<Data<api.SyncCalendarResponse>> {
    return this.transport.call(sdk.syncCalendar, { path: { id } }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Update a calendar.
   *
   * Only the given fields change.
   */
  update(id: string, body: NonNullable<api.UpdateCalendarData['body']>, options?: RequestOptions): Promise<api.Calendar> {
    return this.transport.call(sdk.updateCalendar, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Disconnect a calendar.
   *
   * Its events no longer block times, and the access to the account ends. Events of bookings stay in the
   * calendar.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteCalendarResponse>> {
    return this.transport.call(sdk.deleteCalendar, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
