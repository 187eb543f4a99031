import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const calendarWorkflows = { syncCalendar: 'syncCalendar' } as const;

export interface CalendarWorkflows {
  syncCalendar(args: SyncCalendarArgs): Promise<CalendarOutcome>;
}

/** Of the Temporal Schedule of a calendar. The workflows that it starts have this id and the time they were due at. */
export const calendarScheduleId = (calendarId: string) => `calsync-${calendarId}`;

/** Every duration of a sync is a value, so that tests run a whole retry schedule in seconds. */
export interface CalendarPolicy {
  /** Of one attempt, which reads all pages there are. */
  timeoutMs: number;
  /** Longer than the answer to one request may take. */
  heartbeatTimeoutMs: number;
  retry: RetryProfile;
  /** Of the statement that records a failure. */
  recordTimeoutMs: number;
}

/**
 * @param answerMs how long a provider may take to answer
 * @param scale of the waits between attempts; below 1 in tests alone
 */
export const calendarPolicy = (answerMs: number, scale: number): CalendarPolicy => ({
  timeoutMs: 600_000,
  heartbeatTimeoutMs: answerMs + 15_000,
  retry: {
    initialIntervalMs: Math.max(1, 5_000 * scale),
    backoff: 2,
    maximumIntervalMs: Math.max(1, 600_000 * scale),
    maximumAttempts: 6,
  },
  recordTimeoutMs: 10_000,
});

/** All attempts of one sync with the waits in between; a sync that no worker finishes must not keep the next from starting. */
export const syncLimitMs = 3_600_000;

/** What a Temporal Schedule carries: nothing that could be outdated. */
export interface SyncCalendarArgs extends Omit<WorkContext, 'correlationId'> {
  calendarId: string;
  policy: CalendarPolicy;
}

/**
 * What one sync did.
 * - read: how many events it got, in a full reading or of what changed
 * - stopped: the calendar is deleted, or needs to be connected again
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
