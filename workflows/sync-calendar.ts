import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { CalendarActivities } from '../activities/calendars.ts';
import type {
  CalendarOutcome,
  CalendarPolicy,
  CalendarProblem,
  SyncCalendarArgs,
} from '../src/temporal/contracts/calendars.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { retryWithoutLimit } from './activity-calls.ts';

const proxied = ({ timeoutMs, heartbeatTimeoutMs, retry }: CalendarPolicy) =>
  proxyActivities<CalendarActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { ...retryWithoutLimit(retry), maximumAttempts: retry.maximumAttempts },
  });

/** Retried without limit: it writes to our own database alone. */
const localOf = ({ recordTimeoutMs, retry }: CalendarPolicy) =>
  proxyLocalActivities<CalendarActivities>({
    startToCloseTimeout: recordTimeoutMs,
    retry: { initialInterval: retry.initialIntervalMs, maximumInterval: retry.maximumIntervalMs },
  });

/** The activity's error about its provider; other errors are for operators and not for tenants. */
function problemOf(failure: unknown): CalendarProblem {
  const cause = failure instanceof ActivityFailure ? failure.cause : undefined;
  const [problem] =
    cause instanceof ApplicationFailure ? ((cause.details ?? []) as (CalendarProblem | undefined)[]) : [];
  return problem?.code ? problem : { code: 'internal_error', message: 'The sync failed.' };
}

/**
 * One sync of a calendar, started by its Schedule, by a request, by a push of its provider, or in Temporal's web UI. It
 * fails while the provider stays unreachable, and after access to the calendar is lost, so that operators find it among
 * the failed ones.
 */
export async function syncCalendar({ policy, ...ref }: SyncCalendarArgs): Promise<CalendarOutcome> {
  setCurrentDetails('Reads the calendar. Busy times of the last sync stay in force until it is done.');
  try {
    const outcome = await proxied(policy).pullCalendar(ref);
    setCurrentDetails('');
    return outcome;
  } catch (failure) {
    if (isCancellation(failure)) throw failure;
    const problem = problemOf(failure);
    await localOf(policy).recordSyncFailure(ref, problem);
    setCurrentDetails(`Failed (${problem.code}): ${problem.message} Busy times of the last sync stay in force.`);
    throw ApplicationFailure.nonRetryable(
      `The calendar could not be read (${problem.code}): ${problem.message}`,
      failureTypes.calendarSyncFailed,
      problem,
    );
  }
}
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, syncCalendar);
