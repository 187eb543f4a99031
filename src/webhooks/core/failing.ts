/** Since when a subscription has done nothing but fail. Times are ms since the epoch. */
export interface Failing {
  since: number | null;
  lastAt: number | null;
}

export const notFailing: Failing = { since: null, lastAt: null };

/** How long a subscription may do nothing but fail before it is turned off. */
export const failingLimitMs = 5 * 24 * 3_600_000;

/** After a failure at `now`. Failures with a long silence between them are no row of failures. */
export function afterFailure({ since, lastAt }: Failing, now: number, limitMs = failingLimitMs): Failing {
  const silent = lastAt === null || now - lastAt > 2 * limitMs;
  return { since: since === null || silent ? now : since, lastAt: now };
}

/** Whether it has failed for so long that nobody can be waiting for its deliveries. */
export const hasFailedTooLong = ({ since }: Failing, now: number, limitMs = failingLimitMs): boolean =>
  since !== null && now - since >= limitMs;
