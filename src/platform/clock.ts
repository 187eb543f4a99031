/** How far a test has advanced the clock. It is 0 outside of tests. */
let offsetMs = 0;

/** The PostgreSQL channel on which a test says that it has advanced the clock of the database. */
export const clockChannel = 'advance_clock';

/** The channel on which a process answers that its clock agrees with the database. */
export const clockFollowedChannel = 'clock_followed';

/** The current time for all product code. Statements ask `atelier_now()` and `atelier_statement_now()`. */
export const clock = {
  /** Milliseconds since 1970. */
  now: (): number => Date.now() + offsetMs,
  date: (): Date => new Date(clock.now()),
};

/** Only tests and processes with `NODE_ENV=test` call it. */
export function setClockOffset(ms: number): void {
  offsetMs = ms;
}
