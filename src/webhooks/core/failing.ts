/** Since when every attempt of a subscription has failed. Times are ms since the epoch. */
export interface Failing {
  since: number | null;
  lastAt: number | null;
}

export const notFailing: Failing = { since: null, lastAt: null };

/** How long every attempt of a subscription may fail before it is turned off. */
export const failingLimitMs = 5 * 24 * 3_600_000;

/** After a failure at `now`. A long time without attempts starts a new series of failures. */
export function afterFailure({ since, lastAt }: Failing, now: number, limitMs = failingLimitMs): Failing {
  const silent = lastAt === null || now - lastAt > 2 * limitMs;
  return { since: since === null || silent ? now : since, lastAt: now };
}

/** Whether it has failed long enough to be turned off. */
export const hasFailedTooLong = ({ since }: Failing, now: number, limitMs = failingLimitMs): boolean =>
  since !== null && now - since >= limitMs;
