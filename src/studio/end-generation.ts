import { settleCredits, voidCredits } from '../credits/index.ts';
import { type IdempotencyClaim, releaseClaim } from '../platform/idempotency.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Waiters } from '../platform/waiters.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import type { MadeMedia } from '../providers/index.ts';
import type { Files, SignedUrls, StoredFile } from '../storage/index.ts';
import { publishEvent } from '../webhooks/index.ts';
import { settledCredits } from './core/credits.ts';
import { videoCompleted, videoFailed } from './core/events.ts';
import type { GenerationError } from './core/status.ts';
import { creditKey } from './create-generation.ts';
import { failPoint } from './fail-points.ts';

export interface EndServices {
  files: Files;
  waiters: Waiters;
  signedUrls: SignedUrls;
}

/** What the end of a generation without a file needs. */
export type StopServices = Pick<EndServices, 'files' | 'waiters'>;

/** Whose end it is, and the channel of another process that waits for it. */
export interface Ending {
  generationId: string;
  waiter: string | null;
}

/** The image that it worked on, which is not needed any more. */
interface Ended {
  input: string | null;
}

const complete = statement<Ended>(
  'generation.complete',
  `update generation set status = 'completed', file = $4::text, width = $5::int, height = $6::int,
          seconds = $7::float8, credits = $8::int, has_transparency = $9::boolean, image_url = null,
          finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning image->>'file' as input`,
);

interface Stopped extends Ended {
  kind: MediaKind;
  finishedAt: Date;
  claim: Pick<IdempotencyClaim, 'method' | 'path' | 'key'> | null;
}

const stop = statement<Stopped>(
  'generation.stop',
  `update generation set status = $4::text, error = $5::jsonb, image_url = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning kind, finished_at as "finishedAt", claim, image->>'file' as input`,
);

/**
 * Records a finished generation: its row, its file and its charge are one transaction.
 * @returns false when it had ended before; the file is then removed by the sweep, and nothing is charged
 */
export async function completeGeneration(
  services: EndServices,
  scope: Scope,
  ending: Ending,
  { request, stored, made }: { request: GenerationRequest; stored: StoredFile; made: MadeMedia },
): Promise<boolean> {
  const { generationId } = ending;
  const amount = settledCredits(request, made.seconds);
  const { width = null, height = null } = made.size ?? {};
  const done = await scope.transaction(async (tx) => {
    const values = [stored.name, width, height, made.seconds, amount, made.hasTransparency];
    const ended = await tx.one(complete, generationId, ...values);
    if (!ended) return false;
    await services.files.record(tx, stored);
    if (ended.input !== null) await services.files.remove(tx, [ended.input]);
    await settleCredits(tx, { key: creditKey(generationId), amount });
    if (request.kind === 'video') {
      const facts = {
        status: 'completed',
        duration: made.seconds!,
        width: width!,
        height: height!,
        creditsUsed: amount,
      } as const;
      const url = services.signedUrls.sign(stored.name);
      await publishEvent(tx, videoCompleted, generationId, { videoId: generationId, url, ...facts });
    }
    await services.waiters.notifyRemote(tx, generationId, ending.waiter);
    return true;
  });
  failPoint('generation.recorded');
  services.waiters.notifyLocal(generationId);
  return done;
}

/**
 * Ends a generation without a file and gives its credits back, in one transaction.
 * @param error null when it was cancelled
 * @param also what else belongs to the transaction
 * @returns false when it had ended before
 */
export async function stopGeneration(
  services: StopServices,
  scope: Scope,
  ending: Ending,
  error: GenerationError | null,
  also?: (tx: Transaction) => Promise<void>,
): Promise<boolean> {
  const { generationId } = ending;
  const stopped = await scope.transaction(async (tx) => {
    const status = error ? 'failed' : 'cancelled';
    const ended = await tx.one(stop, generationId, status, error && JSON.stringify(error));
    if (!ended) return false;
    if (ended.input !== null) await services.files.remove(tx, [ended.input]);
    await voidCredits(tx, { key: creditKey(generationId) });
    // The caller is answered that the request is not valid, which does not use the key up.
    if (ended.claim && error?.path !== undefined) await releaseClaim(tx, ended.claim, generationId);
    // A fault of the request was its answer: it never became a job.
    if (ended.kind === 'video' && error && error.path === undefined) {
      const { code, message } = error;
      const failedAt = ended.finishedAt.toISOString();
      const facts = { status: 'failed', error: { code, message }, failedAt } as const;
      await publishEvent(tx, videoFailed, generationId, { videoId: generationId, ...facts });
    }
    await also?.(tx);
    await services.waiters.notifyRemote(tx, generationId, ending.waiter);
    return true;
  });
  services.waiters.notifyLocal(generationId);
  return stopped;
}
