import { readRetryAfter } from '../platform/core/retry-after.ts';
import { IntegrationFailure } from './failures.ts';
import type { ProviderAnswer } from './provider-call.ts';

/** How long an answer asks to wait, in whole seconds. */
export function retryAfterOf({ headers }: Pick<ProviderAnswer, 'headers'>): number | undefined {
  const wait = readRetryAfter(headers['retry-after'], Date.now());
  return wait === undefined ? undefined : Math.ceil(wait / 1_000);
}

/**
 * What the status of an answer means by HTTP itself (RFC 9110), for whatever an integration does not read more from:
 * 401 is a token that is refused, 429 too many requests, 408 and 503 with Retry-After a request that was not taken, any
 * other status from 500 on a request of which nobody knows what it did, and all else a refusal.
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

/** Of a request that changes nothing: one whose answer was lost may be made again, also within an action that writes. */
export async function withoutTrace<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof IntegrationFailure) || error.kind !== 'lost') throw error;
    const { providerCode, retryAfterSeconds } = error;
    throw new IntegrationFailure('not_done', { providerCode, retryAfterSeconds, cause: error });
  }
}
