import type { LogLine } from './product-process.ts';

/**
 * What a process logged as an unexpected failure. A sweep that Temporal was too busy to answer is none of what a test asked
 * for, and comes again.
 */
export const unexpectedFailures = (log: readonly LogLine[]): LogLine[] =>
  log.filter(({ level, sweep, err }) => Number(level) >= 50 && !(sweep && isOfTemporal(err)));

const isOfTemporal = (error: unknown): boolean => /\bServiceError\b/.test(JSON.stringify(error ?? ''));
