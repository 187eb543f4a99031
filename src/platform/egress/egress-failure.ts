import type { EgressErrorClass } from '../core/egress-errors.ts';

/** Facts for the delivery log. */
interface EgressFacts {
  /** Status of an incomplete response. */
  status?: number;
  /** From the call to the failure. */
  durationMs?: number;
  cause?: unknown;
}

/** A request that got no complete response. The message may be shown to callers; the cause is only for the log. */
export class EgressFailure extends Error {
  override name = 'EgressFailure';
  readonly errorClass: EgressErrorClass;
  readonly status: number | undefined;
  readonly durationMs: number;

  constructor(errorClass: EgressErrorClass, message: string = sentences[errorClass], facts: EgressFacts = {}) {
    super(message, { cause: facts.cause });
    this.errorClass = errorClass;
    this.status = facts.status;
    this.durationMs = Math.round(facts.durationMs ?? 0);
  }
}

// The messages contain no addresses: they could disclose the internal network.
const sentences: Record<EgressErrorClass, string> = {
  forbidden_destination: 'Requests to this address are not allowed.',
  invalid_request: 'The request is not valid HTTP.',
  dns: 'The host name could not be resolved.',
  connect: 'The connection could not be established.',
  tls: 'A secure connection could not be established.',
  timeout: 'No complete response was received in time.',
  reset: 'The connection was closed before the response was complete.',
  malformed_response: 'The response is not valid HTTP.',
  response_too_large: 'The headers of the response are too large.',
};

/** Whether a request that failed was certainly not sent: it was refused here, or there was no connection. */
export function wasNeverSent({ errorClass, cause }: EgressFailure): boolean {
  if (['forbidden_destination', 'invalid_request', 'dns', 'connect', 'tls'].includes(errorClass)) return true;
  const { code, syscall } = (cause ?? {}) as { code?: unknown; syscall?: unknown };
  return (
    errorClass === 'timeout' && (code === 'ABORT_ERR' || code === 'UND_ERR_CONNECT_TIMEOUT' || syscall === 'connect')
  );
}

const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
};

const isTimeout = (code: string) => /^(ABORT_ERR|TimeoutError|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code);

/** The failure behind an error while connecting. */
export const connectFailure = (cause: unknown): EgressFailure =>
  new EgressFailure(isTimeout(codeOf(cause)) ? 'timeout' : 'connect', undefined, { cause });

/** The failure behind an error of TLS. The message contains the error code, so that the receiver can fix its certificate. */
export function tlsFailure(cause: unknown): EgressFailure {
  const code = codeOf(cause);
  if (isTimeout(code)) return new EgressFailure('timeout', undefined, { cause });
  return new EgressFailure('tls', `${sentences.tls.slice(0, -1)} (${code}).`, { cause });
}

const classes: [RegExp, EgressErrorClass][] = [
  [/^UND_ERR_HEADERS_OVERFLOW$|^HPE_HEADER_OVERFLOW$/, 'response_too_large'],
  // undici uses assertions for some malformed responses, such as a status below 100.
  [/^HPE_|^HTTPParserError$|^UND_ERR_RES_|^ERR_ASSERTION$/, 'malformed_response'],
  [/^UND_ERR_(INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED)$/, 'invalid_request'],
  [/^ETIMEDOUT$/, 'timeout'],
  [/^E[A-Z]+$|^UND_ERR_/, 'reset'],
];

/** The EgressFailure behind an error of an exchange. An unexpected error is returned unchanged. */
export function toEgressFailure(error: unknown, facts: EgressFacts): unknown {
  if (error instanceof EgressFailure) {
    return new EgressFailure(error.errorClass, error.message, { ...facts, cause: error.cause });
  }
  const found = classes.find(([pattern]) => pattern.test(codeOf(error)));
  return found ? new EgressFailure(found[1], undefined, { ...facts, cause: error }) : error;
}
