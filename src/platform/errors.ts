import { clock } from './clock.ts';
import { shortened } from './core/shortened.ts';

/**
 * The kinds of expected failures. The kind alone decides the HTTP status (`api/errors/error-status.ts` names every kind, and a
 * test walks the list); nothing here knows HTTP. A kind is also the published code of a failure without its own code.
 */
export const errorKinds = [
  'validation_error',
  'unauthorized',
  'insufficient_credits',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'unprocessable',
  'payload_too_large',
  'unsupported_media_type',
  'range_not_satisfiable',
  'rate_limit_exceeded',
  // These concern a provider that a tenant connected, as opposed to our own keys and limits.
  'auth_expired',
  'rate_limited',
  'action_failed',
  'ai_provider_error',
  'internal_error',
  'service_unavailable',
  'provider_not_configured',
] as const;

export type ErrorKind = (typeof errorKinds)[number];
export type Facts = Record<string, unknown>;

/** Codes that a feature publishes besides the kinds, and the kind of each. The feature's part lists them. */
export type ErrorCodes = Readonly<Record<string, ErrorKind>>;

interface ErrorOptions {
  /** The published code, where it is not the kind. */
  code?: string;
  /** Whole seconds after which a retry makes sense. */
  retryAfter?: number;
}

/**
 * An expected failure: a kind, a sentence for people, and facts for programs. Its message may be shown to callers. It says
 * by itself what happened and has no stack, which would take a third of the time of a refusal.
 */
export class AppError extends Error {
  override name = 'AppError';
  readonly kind: ErrorKind;
  readonly code: string;
  readonly facts: Facts | undefined;
  readonly retryAfter: number | undefined;

  constructor(kind: ErrorKind, message: string, facts?: Facts, { code = kind, retryAfter }: ErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.kind = kind;
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

const maxErrorsListed = 100;

/** The errors that an answer lists: the first hundred. A body of 1 MiB can have a hundred thousand. */
export const listed = <Item>(errors: readonly Item[]): Item[] => errors.slice(0, maxErrorsListed);

/** Paths have names that callers choose, and a hundred of them may have the same name of a megabyte. */
const max = { path: 500, message: 1_000 };

const shortErrors = (errors: readonly FieldError[]): FieldError[] =>
  listed(errors).map(({ path, message }) => ({
    path: shortened(path, max.path),
    message: shortened(message, max.message),
  }));

export const invalid = (errors: readonly FieldError[], message = 'The request is not valid.') =>
  new AppError('validation_error', message, { errors: shortErrors(errors) });

interface Exceeded {
  /** The reached limit of an organization: its published name, and its description. Limits of addresses have none. */
  window?: { name: string; text: string } | undefined;
  limit: number;
  /** Unix seconds. */
  resetAt: number;
  /** Seconds. */
  retryAfter: number;
}

export function rateLimited({ window, limit, resetAt, retryAfter }: Exceeded): AppError {
  const message = window ? `Too many requests: the limit is ${limit} ${window.text}.` : 'Too many requests.';
  const facts = { limit, resetAt, ...(window && { window: window.name }) };
  return new AppError('rate_limit_exceeded', message, facts, { retryAfter });
}

/** It is not known when a slot becomes free. */
const placeRetryAfter = 5;

/** As many are open at the same time as may be. */
export const concurrencyLimitReached = (limit: number, window?: Exceeded['window']): AppError =>
  rateLimited({
    limit,
    resetAt: Math.ceil(clock.now() / 1000) + placeRetryAfter,
    retryAfter: placeRetryAfter,
    window,
  });

/** A dependency is down and a retry may succeed soon. */
export const unavailable = (what: string) =>
  new AppError('service_unavailable', `${what} is not available at the moment.`, undefined, { retryAfter: 1 });
