import { until } from '../until.ts';

/** Waits until the current minute has some seconds left, so that what follows falls into one window. */
export const untilMinuteHasRoom = (seconds = 8) =>
  until('the minute has room', async () => 60 - ((Date.now() / 1000) % 60) > seconds, 60_000);
