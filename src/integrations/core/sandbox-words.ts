import type { ReportedFailure } from './after-failure.ts';

/** Words in a payload that make the sandbox fail or wait, so that integrators can test how they handle it. */
const words = {
  fail: /sandbox:fail\b/,
  rateLimited: /sandbox:rate_limited\b(?:=(\d{1,5})(?!\d))?/,
  authExpired: /sandbox:auth_expired\b/,
  overloaded: /sandbox:overloaded\b/,
  slow: /sandbox:slow=(\d{1,4}(?:\.\d{1,3})?)/,
};

const usualRetryAfter = 30;

/** The attempt at which an overloaded sandbox succeeds. */
const overloadedUntilAttempt = 3;

/** All strings of a payload. JSON escapes none of the characters that words are made of. */
const textOf = (payload: unknown): string => JSON.stringify(payload);

/** What a payload asks of the sandbox at an attempt, counted from 1. */
export function readSandboxWords(
  payload: unknown,
  attempt: number,
): { slowSeconds: number; failure?: ReportedFailure } {
  const text = textOf(payload);
  // Most payloads have none.
  if (!text.includes('sandbox:')) return { slowSeconds: 0 };
  const slowSeconds = Number(words.slow.exec(text)?.[1] ?? 0);
  const limited = words.rateLimited.exec(text);
  const failure: ReportedFailure | undefined = words.fail.test(text)
    ? { kind: 'action_failed', providerCode: 'sandbox_failure' }
    : limited
      ? { kind: 'rate_limited', retryAfterSeconds: Number(limited[1] ?? usualRetryAfter) }
      : words.authExpired.test(text)
        ? { kind: 'auth_expired' }
        : words.overloaded.test(text) && attempt < overloadedUntilAttempt
          ? { kind: 'not_done' }
          : undefined;
  return { slowSeconds, ...(failure && { failure }) };
}
