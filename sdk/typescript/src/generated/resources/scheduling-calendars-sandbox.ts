// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingCalendarsSandbox extends Resource {
  /**
   * Read a sandbox calendar.
   *
   * Returns the events of a calendar of a test key. Calendars of live keys are answered with 404 `not_found`.
   */
  get(id: string, options?: RequestOptions): Promise<api.SandboxCalendar> {
    return this.transport.call(sdk.getSandboxCalendar, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Replace the contents of a sandbox calendar.
   *
   * Replaces the events of other people and the simulated failure. The next sync reads them. An event with the
   * `id` of an event in `written` changes the event of that booking: another time moves it, and the status
   * `cancelled` removes it.
   */
  put(id: string, body: NonNullable<api.PutSandboxCalendarData['body']>, options?: RequestOptions): Promise<api.SandboxCalendar> {
    return this.transport.call(sdk.putSandboxCalendar, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
