import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, unavailable } from '../errors.ts';

/**
 * The expected failures behind PostgreSQL's error codes, by prefix (PostgreSQL 18, appendix A). Invalid data is a
 * validation error; serialization failures and problems with connections, resources or time limits can be retried.
 */
const meanings: [prefix: string, meaning: () => AppError][] = [
  ['22', () => new AppError('validation_error', 'A value cannot be stored.', { errors: [] })],
  ['54', () => new AppError('validation_error', 'A value is too large or too complex.', { errors: [] })],
  ['23505', () => new AppError('conflict', 'This already exists.')],
  ['23P01', () => new AppError('conflict', 'This overlaps with an existing one.')],
  // On a shared connection one request prepares a statement, and those behind it use it: this is theirs when it failed.
  ['26000', () => unavailable('The database')],
  ['40', () => unavailable('The database')],
  ['53', () => unavailable('The database')],
  ['55P03', () => unavailable('The database')],
  ['57', () => unavailable('The database')],
  ['58', () => unavailable('The database')],
  ['08', () => unavailable('The database')],
];

const networkCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];
/** Messages of `pg` without a code, for a lost connection or a timeout while connecting. */
const lostConnection =
  /Query read timeout|timeout expired|Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|Client was closed|Connection ended/;

/** The expected failure behind an error of the database or the network; undefined for any other error. */
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

/** Whether the database cannot be reached, or has no place or time: the same statement may succeed soon. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  databaseFailure(error)?.code === 'service_unavailable';

/**
 * The result of `read`, for callers that wait for a condition: while the database is unavailable the condition is
 * unknown, and they continue to wait.
 * @param unknown returned while the database is unavailable
 * @throws whatever else `read` throws
 */
export async function readPatiently<Found, const Unknown>(
  read: () => Promise<Found>,
  unknown: Unknown,
): Promise<Found | Unknown> {
  try {
    return await read();
  } catch (error) {
    if (isDatabaseUnavailable(error)) return unknown;
    throw error;
  }
}

const tries = { count: 5, firstMs: 200 };

/**
 * Records what cannot be fetched again, such as the answer of a provider: an interruption of the database must not lose it.
 * @param record harmless when it was done before: the commit of a failed attempt may have succeeded, where it is repeated
 * @throws what the fifth attempt throws, after three seconds; at once what is no interruption, such as an invalid value
 */
export async function recordPatiently<T>(record: (isRepeated: boolean) => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await record(tried > 1);
    } catch (error) {
      if (!isDatabaseUnavailable(error) || tried >= tries.count) throw error;
      await sleep(tries.firstMs * 2 ** (tried - 1));
    }
  }
}
