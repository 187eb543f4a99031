import { type Logger, pino } from 'pino';

export type Log = Logger;

/** JSON lines on standard output, written at once: what a process said before a kill -9 is not lost. */
export function openLog(level: string, process: string): Log {
  const options = { level, base: { process }, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, pino.destination({ dest: 1, sync: true }));
}
