/** One thing that is wrong with a request. */
export interface FieldError {
  /** Where it is: `steps.0.prompt`. */
  path: string;
  message: string;
}

/** The facts about a failure. */
export interface Failure {
  status?: number | null;
  code?: string | null;
  requestId?: string | null;
  details?: Record<string, unknown>;
  retryAfter?: number | null;
  cause?: unknown;
}

/** A failed call. Its class is the kind of the failure. */
export class AtelierError extends Error {
  /** The status of the answer, or null if there was none. */
  readonly status: number | null;
  /** The code of the failure, such as `not_found`, or null where the answer has none. */
  readonly code: string | null;
  /** The id of the request in the logs of the service, or null without an answer. */
  readonly requestId: string | null;
  /** Facts for programs. */
  readonly details: Record<string, unknown>;
  /** The seconds after which the service wants the next attempt, if it says so. */
  readonly retryAfter: number | null;

  constructor(message: string, failure: Failure = {}) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = new.target.name;
    this.status = failure.status ?? null;
    this.code = failure.code ?? null;
    this.requestId = failure.requestId ?? null;
    this.details = failure.details ?? {};
    this.retryAfter = failure.retryAfter ?? null;
  }
}

/** The key or token is missing, wrong or expired (401). */
export class AuthenticationError extends AtelierError {}
/** The credits do not suffice (402). */
export class InsufficientCreditsError extends AtelierError {}
/** The key may not do this (403). */
export class PermissionError extends AtelierError {}
/** There is no such thing for this key (404). */
export class NotFoundError extends AtelierError {}
/** The request contradicts the state of things (409), or the address has no such method (405). */
export class ConflictError extends AtelierError {}
/** Too many requests (429). `retryAfter` is the wait before the next attempt. */
export class RateLimitError extends AtelierError {}
/** A provider of models, or of an integration, failed. */
export class ProviderError extends AtelierError {}
/** The service cannot answer now (503, 504). */
export class ServiceUnavailableError extends AtelierError {}
/** There was no complete answer: the connection failed, or the answer was not one of the service. */
export class ConnectionError extends AtelierError {}
/** There was no answer in time. */
export class TimeoutError extends AtelierError {}

/** The request is not acceptable (400, 413, 415, 422). */
export class ValidationError extends AtelierError {
  /** The problems of the request, if the service lists them. */
  readonly errors: FieldError[];

  constructor(message: string, failure: Failure = {}) {
    super(message, failure);
    const { errors } = this.details;
    this.errors = Array.isArray(errors) ? (errors as FieldError[]) : [];
  }
}

const classes: Record<number, typeof AtelierError> = {
  400: ValidationError,
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionError,
  404: NotFoundError,
  405: ConflictError,
  409: ConflictError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitError,
  502: ProviderError,
  503: ServiceUnavailableError,
  504: ServiceUnavailableError,
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOr = <Other>(value: unknown, other: Other): string | Other => (typeof value === 'string' ? value : other);

/** `Retry-After` in seconds: it is a number of them, or a date. */
export function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim();
  if (!text) return null;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
}

/**
 * The error of an answer that is no success, whatever envelope it has: `{success, error: {code, message, ...}}`,
 * `{success, error: "..."}` or `{error: {code, message}}`.
 */
export function errorOf({ status, headers }: Response, body: unknown): AtelierError {
  const given = isObject(body) ? body.error : undefined;
  const error = isObject(given) ? given : {};
  const message = textOr(given, textOr(error.message, `The service answered with status ${status}.`));
  const code = textOr(error.code, null);
  const isProvider = status === 500 && code?.toLowerCase() === 'ai_provider_error';
  const Class = isProvider ? ProviderError : (classes[status] ?? AtelierError);
  return new Class(message, {
    status,
    code,
    requestId: textOr(error.requestId, headers.get('x-request-id')),
    ...(isObject(error.details) && { details: error.details }),
    retryAfter: retryAfterOf(headers),
  });
}
