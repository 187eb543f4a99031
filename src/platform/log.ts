import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { standardOutputLog } from './log-destination.ts';
import { redactorOf } from './redact.ts';

export type Log = Logger;

export interface LogOptions {
  /** Texts that must never be written, whatever they look like. */
  secrets?: readonly string[];
  /** Standard output unless given. */
  destination?: DestinationStream;
  /** Asked at each line for what else it is to say. */
  alsoTell?: () => object;
}

/** What an error says of itself; what a library hung onto it may be anybody's data. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, stack, ...('code' in error && { code: error.code }) };
}

/**
 * JSON lines on standard output. Keys, secrets and addresses are taken out of every line, and a line has a limit.
 */
export function openLog(level: string, process: string, { secrets = [], destination, alsoTell }: LogOptions = {}): Log {
  const options = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError, error: describeError },
    ...(alsoTell && { mixin: alsoTell }),
    hooks: { streamWrite: redactorOf(secrets) },
  };
  return pino(options, destination ?? standardOutputLog());
}
