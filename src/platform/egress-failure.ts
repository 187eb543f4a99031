import type { EgressErrorClass } from './core/egress-errors.ts';

/** Facts for the log of whoever chose the address. */
export interface EgressFacts {
  /** Of an answer that began and did not end. */
  status?: number;
  /** From the call to the failure. */
  durationMs?: number;
  cause?: unknown;
}

/** A request that got no whole answer. Its message may be shown to anyone; its cause is for our own log. */
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

// They say nothing of addresses: what a name resolves to inside is nobody's business outside.
const sentences: Record<EgressErrorClass, string> = {
  forbidden_destination: 'Requests may not be sent to this address.',
  invalid_request: 'The request is not valid HTTP.',
  dns: 'The host name could not be resolved.',
  connect: 'No connection could be made.',
  tls: 'No secure connection could be made.',
  timeout: 'No whole answer came in time.',
  reset: 'The connection was closed before the answer was whole.',
  malformed_response: 'The answer is not valid HTTP.',
  response_too_large: 'The headers of the answer are too large.',
};

const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
};

const isTimeout = (code: string) => /^(ABORT_ERR|TimeoutError|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code);

/** Of what ends a connection before it is one. */
export const connectFailure = (cause: unknown): EgressFailure =>
  new EgressFailure(isTimeout(codeOf(cause)) ? 'timeout' : 'connect', undefined, { cause });

/** Names what is wrong with a certificate, so that its owner can see to it. */
export function tlsFailure(cause: unknown): EgressFailure {
  const code = codeOf(cause);
  if (isTimeout(code)) return new EgressFailure('timeout', undefined, { cause });
  return new EgressFailure('tls', `${sentences.tls.slice(0, -1)} (${code}).`, { cause });
}

const classes: [RegExp, EgressErrorClass][] = [
  [/^UND_ERR_HEADERS_OVERFLOW$|^HPE_HEADER_OVERFLOW$/, 'response_too_large'],
  // undici asserts what it expects of an answer, as that its status is at least 100.
  [/^HPE_|^HTTPParserError$|^UND_ERR_RES_|^ERR_ASSERTION$/, 'malformed_response'],
  [/^UND_ERR_(INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|NOT_SUPPORTED)$/, 'invalid_request'],
  [/^ETIMEDOUT$/, 'timeout'],
  [/^E[A-Z]+$|^UND_ERR_/, 'reset'],
];

/** Whatever ended an exchange, as the failure that it is. What nobody foresaw stays what it is. */
export function toEgressFailure(error: unknown, facts: EgressFacts): unknown {
  if (error instanceof EgressFailure) {
    return new EgressFailure(error.errorClass, error.message, { ...facts, cause: error.cause });
  }
  const found = classes.find(([pattern]) => pattern.test(codeOf(error)));
  return found ? new EgressFailure(found[1], undefined, { ...facts, cause: error }) : error;
}
