import type { Logger, LogLevel } from '@temporalio/worker';
import type { Log } from '../src/platform/log.ts';

/** The SDK reports each worker's state; that is noise beside what a process says of itself. */
const quieter: Record<LogLevel, 'trace' | 'debug' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'trace',
  INFO: 'debug',
  WARN: 'warn',
  ERROR: 'error',
};

/** Lets the Temporal SDK write into the process's own log. */
export function temporalLogger(log: Log): Logger {
  const write = (level: LogLevel, message: string, meta?: Record<string | symbol, unknown>) =>
    log[quieter[level]]({ temporal: meta }, message);
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
