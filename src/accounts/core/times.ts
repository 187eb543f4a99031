const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** In milliseconds. */
export interface AccountTimes {
  /** A session that is not used for so long has ended. */
  sessionIdleMs: number;
  sessionMaxMs: number;
  /** The last use of a session may lag by this. */
  touchEveryMs: number;
  linkMs: number;
  invitationMs: number;
  failedPasswordsMs: number;
  /** The second step of a sign-in: a code, or the way to a provider and back. */
  secondStepMs: number;
  /** How long a change of a person's second factor waits for another one. */
  factorChangeWaitMs: number;
  /** An account whose address was not verified is removed after this. */
  unprovedMs: number;
  mailedLinksMs: number;
}

const usual: AccountTimes = {
  sessionIdleMs: 12 * hourMs,
  sessionMaxMs: 30 * 24 * hourMs,
  touchEveryMs: minuteMs,
  linkMs: 15 * minuteMs,
  invitationMs: 48 * hourMs,
  failedPasswordsMs: 15 * minuteMs,
  secondStepMs: 10 * minuteMs,
  factorChangeWaitMs: 5_000,
  unprovedMs: 24 * hourMs,
  mailedLinksMs: hourMs,
};

/** @param scale shortens all times, for tests */
export const accountTimes = (scale = 1): AccountTimes =>
  Object.fromEntries(Object.entries(usual).map(([name, ms]) => [name, ms * scale])) as unknown as AccountTimes;
