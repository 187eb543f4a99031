import type { CreatedJob } from '../src/jobs/index.ts';
import type { Waiters } from '../src/platform/concurrency/waiters.ts';
import { readPatiently } from '../src/platform/database/database-errors.ts';
import { requestInProgress, resourceDeleted } from '../src/platform/database/idempotency.ts';
import { AppError } from '../src/platform/errors.ts';
import type { OpenRequest } from '../src/tenancy/open-requests.ts';

/** How much longer than a job's deadline a request waits for its end: a sweep records the end of an interrupted job. */
export const lingerMs = 150_000;

/** For a request that stops waiting although its work continues. */
export const notReady = (what: 'answer' | 'reply') =>
  new AppError(
    'service_unavailable',
    `The ${what} is not ready yet. Send the request again with its Idempotency-Key.`,
    undefined,
    { retryAfter: 5 },
  );

/** Why a caller gets no answer: its key has ended, or this process drains. */
export async function refusalOf(open: OpenRequest, what: 'answer' | 'reply'): Promise<AppError | undefined> {
  return (await open.refusal()) ?? (open.signal.aborted ? notReady(what) : undefined);
}

interface AwaitedJob<Found> {
  open: OpenRequest;
  waiters: Waiters;
  /** How long the request waits. */
  withinMs: number;
  /** Reads the job; undefined: it was removed. */
  find(): Promise<Found | undefined>;
  /** Whether there is something to answer. */
  isDecided(found: Found): boolean;
  /** Whether it can be answered without waiting. */
  isImmediate?: boolean;
  /** By default as `refusalOf`. */
  refusal?(): Promise<AppError | undefined>;
}

/**
 * Waits until a job can be answered. It continues when its caller disconnects.
 * @returns undefined when the time is over first
 * @throws AppError idempotency_in_progress while an earlier request with the key is not answered; conflict when the job was
 *   removed; service_unavailable when this process drains; unauthorized when the key ends meanwhile
 */
export async function waitForJob<Found>(
  { id, replayed }: CreatedJob,
  { open, waiters, withinMs, find, isDecided, isImmediate, refusal }: AwaitedJob<Found>,
): Promise<Found | undefined> {
  const look = async () => {
    const found = await readPatiently(async () => (await find()) ?? 'removed', undefined);
    return found === undefined || found === 'removed' || isDecided(found) ? found : undefined;
  };
  const found = replayed || isImmediate ? await look() : await waiters.wait(id, look, withinMs, open.signal);
  const refused = await (refusal?.() ?? refusalOf(open, 'answer'));
  if (refused) throw refused;
  if (found === 'removed') throw resourceDeleted();
  if (found === undefined && replayed) throw requestInProgress();
  return found;
}

/** As `waitForJob`, until the job ends or is overdue. @throws AppError as `waitForJob` */
export async function awaitJob<Found>(
  created: CreatedJob,
  { deadlineMs, ...job }: Omit<AwaitedJob<Found>, 'withinMs'> & { deadlineMs: number },
): Promise<Found> {
  const found = await waitForJob(created, { ...job, withinMs: deadlineMs + lingerMs });
  if (found === undefined) throw notReady('answer');
  return found;
}
