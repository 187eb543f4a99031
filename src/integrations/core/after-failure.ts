import type { ActionFailure } from './action-status.ts';

/** Why a provider did not perform a request, as an adapter reports it: see `failures.ts`. */
export interface ReportedFailure {
  kind: 'auth_expired' | 'rate_limited' | 'invalid_payload' | 'action_failed' | 'not_done' | 'lost';
  providerCode?: string | undefined;
  retryAfterSeconds?: number | undefined;
  errors?: readonly { path: string; message: string }[];
}

/** How far an action has come. */
export interface Tried {
  /** The number of attempts, including the failed one. */
  attempts: number;
  /** The pauses so far, in milliseconds. */
  pausedMs: number;
  /** Whether it can be repeated after a lost answer, because it changes nothing. */
  repeatable: boolean;
}

interface AttemptLimits {
  maximumAttempts: number;
  firstPauseMs: number;
  pausesMs: number;
}

/** Seconds of Retry-After: where the provider gives none, and at most. */
const usualRetryAfter = 60;
const maxRetryAfter = 3_600;
/** The most problems in an error about a payload. */
const maxErrorsShown = 20;

/** The failure as its caller receives it. */
function publish({ kind, providerCode, retryAfterSeconds, errors = [] }: ReportedFailure): ActionFailure {
  const named = providerCode !== undefined && { providerCode };
  switch (kind) {
    case 'auth_expired':
      return { code: 'auth_expired' };
    case 'rate_limited':
      return { code: 'rate_limited', retryAfter: Math.min(retryAfterSeconds ?? usualRetryAfter, maxRetryAfter) };
    case 'invalid_payload':
      return { code: 'invalid_payload', errors: errors.slice(0, maxErrorsShown) };
    case 'lost':
      return { code: 'action_failed', ...named, outcome: 'unknown' };
    default:
      return { code: 'action_failed', ...named, outcome: 'failed' };
  }
}

/** The pause before the next attempt, in milliseconds; undefined if the provider's limit gives no time. */
function pauseOf({ kind, retryAfterSeconds }: ReportedFailure, { attempts }: Tried, { firstPauseMs }: AttemptLimits) {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1_000;
  return kind === 'rate_limited' ? undefined : firstPauseMs * 3 ** (attempts - 1);
}

/**
 * Decides what follows a failure: another attempt after a pause, or the end. Within the limits of an action, a request is
 * repeated if the provider certainly did not perform it, or if it changes nothing.
 */
export function afterFailure(
  failure: ReportedFailure,
  tried: Tried,
  limits: AttemptLimits,
): { pauseMs: number } | { failure: ActionFailure } {
  const { attempts, pausedMs, repeatable } = tried;
  const isLost = failure.kind === 'lost';
  const mayRepeat = failure.kind === 'rate_limited' || failure.kind === 'not_done' || (isLost && repeatable);
  const pauseMs = mayRepeat ? pauseOf(failure, tried, limits) : undefined;
  if (pauseMs !== undefined && attempts < limits.maximumAttempts && pausedMs + pauseMs <= limits.pausesMs) {
    return { pauseMs };
  }
  return { failure: publish(isLost && repeatable ? { ...failure, kind: 'action_failed' } : failure) };
}
