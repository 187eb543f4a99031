import type { ActionFailure } from './action-status.ts';

/** What a provider did not do, as an adapter tells it: see `failures.ts`. */
export interface Told {
  kind: 'auth_expired' | 'rate_limited' | 'invalid_payload' | 'action_failed' | 'not_done' | 'lost';
  providerCode?: string | undefined;
  retryAfterSeconds?: number | undefined;
  errors?: readonly { path: string; message: string }[];
}

/** How far an action has come. */
export interface Tried {
  /** Attempts that were made, with the one that failed. */
  attempts: number;
  /** Pauses that were made, in milliseconds. */
  pausedMs: number;
  /** Whether it can be asked again although its answer was lost: it changes nothing. */
  repeatable: boolean;
}

export interface AttemptLimits {
  maximumAttempts: number;
  firstPauseMs: number;
  pausesMs: number;
}

/** What a provider is told to wait where it does not say, and at most, in seconds. */
const usualRetryAfter = 60;
const longestRetryAfter = 3_600;
/** A body that is refused is told no more problems than this. */
const errorsTold = 20;

/** The failure that its caller is told. */
function publish({ kind, providerCode, retryAfterSeconds, errors = [] }: Told): ActionFailure {
  const named = providerCode !== undefined && { providerCode };
  switch (kind) {
    case 'auth_expired':
      return { code: 'auth_expired' };
    case 'rate_limited':
      return { code: 'rate_limited', retryAfter: Math.min(retryAfterSeconds ?? usualRetryAfter, longestRetryAfter) };
    case 'invalid_payload':
      return { code: 'invalid_payload', errors: errors.slice(0, errorsTold) };
    case 'lost':
      return { code: 'action_failed', ...named, outcome: 'unknown' };
    default:
      return { code: 'action_failed', ...named, outcome: 'failed' };
  }
}

/** What is waited before the next attempt, in milliseconds; undefined where the provider does not let us guess. */
function pauseOf({ kind, retryAfterSeconds }: Told, { attempts }: Tried, { firstPauseMs }: AttemptLimits) {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1_000;
  return kind === 'rate_limited' ? undefined : firstPauseMs * 3 ** (attempts - 1);
}

/**
 * What follows from a failure: another attempt after a pause, or the end. Tried again is what the provider certainly did
 * not do, within the limits of an action, and what changes nothing.
 */
export function afterFailure(
  told: Told,
  tried: Tried,
  limits: AttemptLimits,
): { pauseMs: number } | { failure: ActionFailure } {
  const { attempts, pausedMs, repeatable } = tried;
  const isLost = told.kind === 'lost';
  const mayRepeat = told.kind === 'rate_limited' || told.kind === 'not_done' || (isLost && repeatable);
  const pauseMs = mayRepeat ? pauseOf(told, tried, limits) : undefined;
  if (pauseMs !== undefined && attempts < limits.maximumAttempts && pausedMs + pauseMs <= limits.pausesMs) {
    return { pauseMs };
  }
  return { failure: publish(isLost && repeatable ? { ...told, kind: 'action_failed' } : told) };
}
