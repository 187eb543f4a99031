import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { BookingActivities } from '../activities/bookings.ts';
import { type BookingPolicy, bookingMessages, type FollowBookingArgs } from '../src/temporal/contracts/scheduling.ts';
import { retryWithoutLimit } from './activity-calls.ts';

const proxied = ({ timeoutMs, heartbeatTimeoutMs, retry }: BookingPolicy) =>
  proxyActivities<BookingActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit(retry),
  });

const rescheduled = defineSignal(bookingMessages.rescheduled);
const cancelled = defineSignal(bookingMessages.cancelled);
const calendarConnected = defineSignal(bookingMessages.calendarConnected);
const retryEffects = defineSignal(bookingMessages.retryEffects);

/** A workflow that is not in the cache is replayed from its whole history. */
const maxHistoryLength = 500;

/**
 * A booking from its creation until its end: performs the effects of its changes, retries failed ones, and sends its
 * reminders. The rows in PostgreSQL are the truth, and have the times at which effects are due.
 */
export async function followBooking(args: FollowBookingArgs): Promise<void> {
  const { policy, ...ref } = args;
  const { performEffects } = proxied(policy);
  const asked = { look: false, retry: false };
  const isAsked = () => asked.look || asked.retry;
  const look = () => {
    asked.look = true;
  };
  const description = (text: string) => ({ description: text });
  setHandler(rescheduled, look, description('Look at the booking, which was moved. The product sends this.'));
  setHandler(cancelled, look, description('Look at the booking, which was cancelled. The product sends this.'));
  setHandler(
    calendarConnected,
    look,
    description('Look at the booking, because a calendar of its host was connected. The product sends this.'),
  );
  setHandler(
    retryEffects,
    () => {
      asked.retry = true;
    },
    description('Try again now what failed: mails, calendar entries, meeting links and reminders.'),
  );

  for (;;) {
    const { retry } = asked;
    Object.assign(asked, { look: false, retry: false });
    const progress = await performEffects({ ...ref, retry });
    setCurrentDetails(progress.details);
    if (!isAsked()) {
      if (progress.kind === 'over') return;
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if (continueAsNewSuggested || historyLength > maxHistoryLength) await continueAsNew<typeof followBooking>(args);
    }
    if (progress.kind === 'wait') await condition(isAsked, progress.ms);
  }
}
// A booking may be a year ahead, through many versions of this code.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, followBooking);
