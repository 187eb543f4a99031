import { AppError, unavailable } from './errors.ts';

/**
 * What PostgreSQL's error classes mean for a caller, longest prefix first (PostgreSQL 18, appendix A). Data that does
 * not fit is the caller's to change; a lost race may be tried again; anything about connections, resources or time limits
 * passes.
 */
const meanings: [prefix: string, meaning: () => AppError][] = [
  ['22', () => new AppError('validation_error', 'A value cannot be stored.', { errors: [] })],
  ['54', () => new AppError('validation_error', 'A value is too large or too complex.', { errors: [] })],
  ['23505', () => new AppError('conflict', 'This exists already.')],
  ['23P01', () => new AppError('conflict', 'This overlaps with something that exists.')],
  ['40', () => unavailable('The database')],
  ['53', () => unavailable('The database')],
  ['55P03', () => unavailable('The database')],
  ['57', () => unavailable('The database')],
  ['58', () => unavailable('The database')],
  ['08', () => unavailable('The database')],
];

const networkCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];
/** What `pg` says without a code when a connection is lost or cannot be had in time. */
const lostConnection =
  /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|Client was closed|Connection ended/;

/** The expected failure behind an error of the database or of the way to it; undefined for anything else. */
export function databaseFailure(error: unknown): AppError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') {
      const [, meaning] = meanings.find(([prefix]) => /^[0-9A-Z]{5}$/.test(code) && code.startsWith(prefix)) ?? [];
      if (meaning) return meaning();
      if (networkCodes.includes(code)) return unavailable('The database');
    }
    if (lostConnection.test(at.message)) return unavailable('The database');
    if (at instanceof AggregateError && at.errors.some((one) => databaseFailure(one)))
      return unavailable('The database');
  }
  return undefined;
}
