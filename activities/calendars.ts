import { ApplicationFailure } from '@temporalio/activity';
import type { Database } from '../src/platform/database/database.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import { CalendarTooLarge } from '../src/scheduling/calendars/clients/ports.ts';
import { type PullServices, pullCalendar } from '../src/scheduling/calendars/pull-calendar.ts';
import { noteSyncError, reasons, recordSyncFailure } from '../src/scheduling/calendars/sync-state.ts';
import { type CalendarScheduleServices, followCalendar } from '../src/scheduling/calendars/temporal-schedule.ts';
import {
  type CalendarOutcome,
  type CalendarProblem,
  calendarScheduleId,
  type SyncCalendarArgs,
} from '../src/temporal/contracts/calendars.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';

type CalendarRef = Omit<SyncCalendarArgs, 'policy'>;

const heartbeatMs = 2_000;

interface CalendarActivityServices extends PullServices, CalendarScheduleServices {
  database: Database;
  /** Factor for the waits that providers request; below 1 only in tests. */
  calendarTimeScale: number;
}

const scopeOfCalendar = (database: Database, ref: CalendarRef) =>
  scopeOf(database, { ...ref, correlationId: calendarScheduleId(ref.calendarId) });

/** Only connecting the calendar again helps, so the sync ends as failed. */
const lostAccess = (code: keyof typeof reasons) =>
  ApplicationFailure.create({
    message: reasons[code],
    type: failureTypes.calendarSyncFailed,
    nonRetryable: true,
    details: [{ code, message: reasons[code] } satisfies CalendarProblem],
  });

export const createCalendarActivities = (services: CalendarActivityServices) => ({
  /** Reads a calendar, from where an earlier attempt stopped. Fails retryably while its provider may answer later. */
  async pullCalendar(ref: CalendarRef): Promise<CalendarOutcome> {
    const scope = scopeOfCalendar(services.database, ref);
    try {
      const outcome = await withHeartbeats(heartbeatMs, (signal) =>
        pullCalendar(services, scope, ref.calendarId, signal),
      );
      if ('stopped' in outcome && outcome.stopped !== 'deleted') throw lostAccess(outcome.stopped);
      // Nothing more is due for it: its Schedule is removed.
      if ('stopped' in outcome) await followCalendar(services, scope, ref.calendarId, { sync: false });
      return outcome;
    } catch (failure) {
      if (!(failure instanceof ProviderFailure)) throw failure;
      const { kind, message, retryable, retryAfterMs } = failure;
      const code = failure instanceof CalendarTooLarge ? 'too_many_events' : kind;
      // Visible at once, and not only after the last attempt.
      await noteSyncError(scope, ref.calendarId, { code, message });
      throw ApplicationFailure.create({
        message,
        type: failureTypes.providerUnavailable,
        nonRetryable: !retryable,
        details: [{ code, message } satisfies CalendarProblem],
        ...(retryAfterMs !== undefined && { nextRetryDelay: Math.ceil(retryAfterMs * services.calendarTimeScale) }),
      });
    }
  },

  /** Marks a calendar as one that could not be read. */
  recordSyncFailure(ref: CalendarRef, problem: CalendarProblem): Promise<void> {
    return recordSyncFailure(scopeOfCalendar(services.database, ref), ref.calendarId, problem);
  },
});

export type CalendarActivities = ReturnType<typeof createCalendarActivities>;
