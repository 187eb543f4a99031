import { clock } from '../../src/platform/clock.ts';
import { advance } from '../clock.ts';
import { until } from '../until.ts';

/** Waits until the current minute has some seconds left, so that what follows falls into one window. */
const untilMinuteHasRoom = (seconds = 8) =>
  until('the minute has room', async () => 60 - ((Date.now() / 1000) % 60) > seconds, 60_000);

/** The same for the day of UTC, which is also the end of a month. */
export const untilDayHasRoom = (seconds: number) =>
  until('the day has room', async () => 86_400 - ((Date.now() / 1000) % 86_400) > seconds, (seconds + 10) * 1_000);

/**
 * Does work within one minute, and does all of it again where the minute turned meanwhile, whether it failed or not: what is
 * counted by the minute would be counted in two. On a busy machine it may take longer than it was given.
 * @param work asks as a tenant of its own each time
 * @param seconds that the minute has left at the beginning
 */
export async function withinMinute<Result>(work: () => Promise<Result>, seconds = 8): Promise<Result> {
  const minute = () => Math.floor(Date.now() / 60_000);
  for (;;) {
    await untilMinuteHasRoom(seconds);
    const begun = minute();
    const [end] = await Promise.allSettled([work()]);
    if (minute() !== begun) continue;
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  }
}

/** Begins a new minute on a product of the test's own: nothing is counted in its windows, and neither minute nor day ends soon. */
export const advanceToMinute = (product: { ownerUrl: string }): Promise<void> =>
  advance(product, 60_000 - (clock.now() % 60_000));
