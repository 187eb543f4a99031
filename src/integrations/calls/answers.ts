import { clock } from '../../platform/clock.ts';
import { readRetryAfter } from '../../platform/core/retry-after.ts';
import { IntegrationFailure } from './failures.ts';
import type { ProviderAnswer } from './provider-call.ts';

/** Retry-After of an answer, in whole seconds. */
export function retryAfterOf({ headers }: Pick<ProviderAnswer, 'headers'>): number | undefined {
  const wait = readRetryAfter(headers['retry-after'], clock.now());
  return wait === undefined ? undefined : Math.ceil(wait / 1_000);
}

/**
 * The meaning of an HTTP status (RFC 9110), where an integration has no more specific rule: 401 is a refused token, 429 a rate
 * limit, 408 and 503 with Retry-After a request that was not performed, any other 5xx a request with an unknown outcome, and
 * everything else a refusal.
 * @param providerCode as the provider names it
 * @returns undefined for a success
 */
export function statusFailure(answer: ProviderAnswer, providerCode?: string): IntegrationFailure | undefined {
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  const facts = { providerCode, retryAfterSeconds: retryAfterOf(answer) };
  if (status === 401) return new IntegrationFailure('auth_expired', facts);
  if (status === 429) return new IntegrationFailure('rate_limited', facts);
  // It did not receive the whole request.
  if (status === 408) return new IntegrationFailure('not_done', facts);
  if (status === 503 && facts.retryAfterSeconds !== undefined) return new IntegrationFailure('not_done', facts);
  if (status >= 500) return new IntegrationFailure('lost', facts);
  return new IntegrationFailure('action_failed', facts);
}

/** For a request that changes nothing: after a lost answer it may be repeated, also within an action that writes. */
export async function withoutTrace<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || error.kind !== 'lost') throw error;
    const { providerCode, retryAfterSeconds } = error;
    throw new IntegrationFailure('not_done', { providerCode, retryAfterSeconds, cause: error });
  }
}
