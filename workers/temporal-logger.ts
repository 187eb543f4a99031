import type { Logger, LogLevel } from '@temporalio/worker';
import { describeError, type Log } from '../src/platform/observability/log.ts';

/** One level lower: the SDK logs every change of a worker's state, which the process's own lines cover. */
const quieter: Record<LogLevel, 'trace' | 'debug' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'trace',
  INFO: 'debug',
  WARN: 'warn',
  ERROR: 'error',
};

/** A warning of the SDK about every worker that serves activities only, which ours do on purpose. */
const ofActivityWorkers = 'No workflows registered, not polling for workflow tasks';

/**
 * JSON omits the members of an error that is not at the top of a line: it is described like the process's own errors,
 * causes included.
 */
const withError = (meta: Record<string | symbol, unknown> | undefined) =>
  meta?.error instanceof Error ? { ...meta, error: describeError(meta.error) } : meta;

/** Writes the Temporal SDK's lines to the process's log. */
export function temporalLogger(log: Log): Logger {
  const write = (level: LogLevel, message: string, meta?: Record<string | symbol, unknown>) =>
    log[message === ofActivityWorkers ? 'debug' : quieter[level]]({ temporal: withError(meta) }, message);
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
