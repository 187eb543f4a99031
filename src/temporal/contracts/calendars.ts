import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const calendarWorkflows = { syncCalendar: 'syncCalendar' } as const;

export interface CalendarWorkflows {
  syncCalendar(args: SyncCalendarArgs): Promise<CalendarOutcome>;
}

/** The id of a calendar's Temporal Schedule. The workflows that it starts have this id and the time they were due at. */
export const calendarScheduleId = (calendarId: string) => `calsync-${calendarId}`;

/** Every duration of a sync is a value, so that tests run a whole retry schedule in seconds. */
export interface CalendarPolicy {
  /** Time limit of one attempt, which reads all pages. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  retry: RetryProfile;
  /** Time limit of the statement that records a failure. */
  recordTimeoutMs: number;
}

export const defaultCalendarPolicy: CalendarPolicy = {
  timeoutMs: 600_000,
  heartbeatTimeoutMs: 15_000,
  retry: { initialIntervalMs: 5_000, backoff: 2, maximumIntervalMs: 600_000, maximumAttempts: 6 },
  recordTimeoutMs: 10_000,
};

/** All attempts of one sync with the waits in between; a sync that no worker finishes must not keep the next from starting. */
export const syncLimitMs = 3_600_000;

/** The arguments of a Temporal Schedule, without data that could become outdated. */
export interface SyncCalendarArgs extends Omit<WorkContext, 'correlationId'> {
  calendarId: string;
  policy: CalendarPolicy;
}

/**
 * What one sync did.
 * - read: how many events it got, in a full reading or of what changed
 * - stopped: the calendar is deleted. One that needs to be connected again fails its sync
 * - superseded: a later sync of the same calendar took over
 */
export type CalendarOutcome =
  | { read: number; of: 'everything' | 'changes' }
  | { stopped: 'deleted' | 'auth_expired' | 'disconnected' }
  | { superseded: true };

/** Why a calendar could not be read. The message may be shown to tenants. */
export interface CalendarProblem {
  code: string;
  message: string;
}
