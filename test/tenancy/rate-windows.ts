import { until } from '../until.ts';

/** Waits until the current minute has some seconds left, so that what follows falls into one window. */
export const untilMinuteHasRoom = (seconds = 8) =>
  until('the minute has room', async () => 60 - ((Date.now() / 1000) % 60) > seconds, 60_000);

/** The same for the day of UTC, which is also the end of a month. */
export const untilDayHasRoom = (seconds: number) =>
  until('the day has room', async () => 86_400 - ((Date.now() / 1000) % 86_400) > seconds, (seconds + 10) * 1_000);
