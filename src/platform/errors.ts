/**
 * What can go wrong, in the domain's words. A surface maps a code to a status and an envelope; nothing here knows HTTP.
 * The list is closed: `api/error-status.ts` must name every member, and a test walks it.
 */
export const errorCodes = [
  'validation_error',
  'workflow_inactive',
  'unauthorized',
  'insufficient_credits',
  'forbidden',
  'not_found',
  'workflow_not_found',
  'run_not_found',
  'method_not_allowed',
  'conflict',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limit_exceeded',
  'ai_provider_error',
  'internal_error',
  'service_unavailable',
  'provider_not_configured',
] as const;

export type ErrorCode = (typeof errorCodes)[number];
export type Facts = Record<string, unknown>;

/** An expected failure: a code, a sentence for people, and facts for programs. Its message may be shown to anyone. */
export class AppError extends Error {
  override name = 'AppError';
  readonly code: ErrorCode;
  readonly facts: Facts | undefined;
  /** Whole seconds after which it is worth trying again. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, facts?: Facts, retryAfter?: number) {
    super(message);
    this.code = code;
    this.facts = facts;
    this.retryAfter = retryAfter;
  }
}

/** `path` is dotted, as in `steps.0.type`; the empty string is the body itself. */
export interface FieldError {
  path: string;
  message: string;
}

export const invalid = (errors: FieldError[], message = 'The request is not valid.') =>
  new AppError('validation_error', message, { errors });

export const workflowNotFound = (workflowId: string) =>
  new AppError('workflow_not_found', 'No workflow has this id.', { workflowId });

export const runNotFound = (runId: string) => new AppError('run_not_found', 'No run has this id.', { runId });

export const webhookNotFound = (webhookId: string) =>
  new AppError('not_found', 'No webhook has this id.', { webhookId });

export const deliveryNotFound = (deliveryId: string) =>
  new AppError('not_found', 'No delivery has this id.', { deliveryId });

export interface Exceeded {
  limit: number;
  /** Unix seconds. */
  resetAt: number;
  /** Seconds. */
  retryAfter: number;
}

export const rateLimited = ({ limit, resetAt, retryAfter }: Exceeded) =>
  new AppError('rate_limit_exceeded', 'Too many requests.', { limit, resetAt }, retryAfter);

/** Something that is needed does not answer now, and may soon. */
export const unavailable = (what: string) =>
  new AppError('service_unavailable', `${what} is not available at the moment.`, undefined, 1);
