import type { AppError, FieldError } from '../src/platform/errors.ts';
import { errorStatus } from './errors/error-status.ts';

/** The data of the failed request that the envelopes need. */
interface ErrorRendering {
  requestId: string;
  /** The code as the request's dialect spells it. */
  code: string;
  /** The facts, with ids in the dialect's form. */
  facts: Record<string, unknown> | undefined;
}

/** The published interface has three envelopes for failures. Each is a function from a failure to a body. */
export type Envelope = (error: AppError, rendering: ErrorRendering) => object;

export const success = <Data>(data: Data) => ({ success: true as const, data });

/** v1 and studio. */
export const e1: Envelope = (error, { requestId, code, facts }) => ({
  success: false,
  error: { code, message: error.message, ...(facts && { details: facts }), requestId },
});

/** Maximum number of schema errors that one message lists. */
const maxErrorsShown = 5;

/**
 * The sentence of a failure, for answers without other members. A body that does not match its schema is described by
 * its problems; failures with published sentences have no list of errors.
 */
export function sentenceOf({ code, message, facts }: AppError): string {
  if (code === 'unauthorized') return 'Unauthorized';
  const errors = code === 'validation_error' ? (facts?.errors as FieldError[] | undefined) : undefined;
  const shown = errors
    ?.slice(0, maxErrorsShown)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return shown?.length ? shown.join('; ') : message;
}

/** Chat and agents. */
export const e2: Envelope = (error) => ({ success: false, error: sentenceOf(error) });

/** Authentication and rate limits in dialect B. */
export const e3: Envelope = (error, { code }) => ({
  error: { code, message: error.message, ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }) },
});

export const statusOf = (error: AppError) => errorStatus[error.kind];
