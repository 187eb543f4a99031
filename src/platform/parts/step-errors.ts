import type { z } from 'zod';
import { AppError, type FieldError } from '../errors.ts';
import type { StepError } from './step-kind.ts';

/** How many problems of a payload the message contains. */
const maxErrors = 3;

/** The problems of a value, with paths below `payload`. */
export const problemsOf = (schema: z.ZodType, payload: unknown): FieldError[] =>
  (schema.safeParse(payload).error?.issues ?? []).map(({ path, message }) => ({
    path: ['payload', ...path].join('.'),
    message,
  }));

/** A payload that its endpoint would refuse, once its templates are filled in. */
export const invalidPayload = (errors: readonly FieldError[], message = 'The payload is not valid.'): StepError => {
  const said = errors.slice(0, maxErrors).map((one) => `${one.path}: ${one.message}`);
  return {
    code: 'invalid_payload',
    message: [message, ...said].join(' ').slice(0, 1_000),
    details: { errors: errors.slice(0, 20) },
  };
};

/** Codes of runs, by the codes that endpoints refuse with. */
const codes: Readonly<Record<string, string>> = {
  insufficient_credits: 'insufficient_credits',
  provider_not_configured: 'service_unavailable',
  service_unavailable: 'service_unavailable',
  forbidden: 'storage_full',
};

/**
 * The reason why a step failed whose feature refused the request.
 * @throws the error when it is none that the caller of an endpoint would get
 */
export function refusalOfStep(error: unknown): StepError {
  if (!(error instanceof AppError)) throw error;
  const { kind, code, message, facts } = error;
  if (kind === 'validation_error') {
    const { errors = [] } = (facts ?? {}) as { errors?: FieldError[] };
    return invalidPayload(
      errors.map(({ path, ...rest }) => ({ path: ['payload', path].filter(Boolean).join('.'), ...rest })),
      message,
    );
  }
  return { code: codes[code] ?? codes[kind] ?? code, message };
}

/** After how long a refused step may be tried again, if it was refused because the plan has no slot for it. */
export const slotAfterMs = (error: unknown): number | undefined =>
  error instanceof AppError && error.kind === 'rate_limit_exceeded' ? (error.retryAfter ?? 5) * 1_000 : undefined;
