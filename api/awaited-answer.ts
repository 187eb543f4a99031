import { AppError } from '../src/platform/errors.ts';
import type { OpenRequest } from '../src/tenancy/open-requests.ts';

/**
 * How much longer than the deadline of some work a request waits for its end: a sweep records the end of work that broke
 * off.
 */
export const lingerMs = 150_000;

/** For a request that stops waiting although its work goes on. */
export const notYetThere = (what: 'answer' | 'reply') =>
  new AppError(
    'service_unavailable',
    `The ${what} is not there yet. Send the request again with its Idempotency-Key.`,
    undefined,
    { retryAfter: 5 },
  );

/** Why nothing is told to a caller: it may not have it any more, or its request does not wait any more. */
export async function refusalOf(open: OpenRequest, what: 'answer' | 'reply'): Promise<AppError | undefined> {
  return (await open.refusal()) ?? (open.signal.aborted ? notYetThere(what) : undefined);
}
