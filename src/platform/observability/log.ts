import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { standardOutputLog } from './log-destination.ts';
import { redactorOf } from './redact.ts';

export type Log = Logger;

interface LogOptions {
  /** Texts that are redacted wherever they appear. */
  secrets?: readonly string[];
  /** Standard output by default. */
  destination?: DestinationStream;
  /** Called for each line. The returned fields are added to it. */
  lineFields?: () => object;
}

/** Type, message, stack and code only: libraries attach other properties, which can contain tenants' data. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, stack, ...('code' in error && { code: error.code }) };
}

/**
 * Logs JSON lines to standard output. Keys, secrets and e-mail addresses are redacted, and long lines are shortened.
 */
export function openLog(
  level: string,
  process: string,
  { secrets = [], destination, lineFields }: LogOptions = {},
): Log {
  const options = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError, error: describeError },
    ...(lineFields && { mixin: lineFields }),
    hooks: { streamWrite: redactorOf(secrets) },
  };
  return pino(options, destination ?? standardOutputLog());
}
