import { defineJob, jobSubmission } from '../jobs/index.ts';
import type { Waiters } from '../platform/concurrency/waiters.ts';
import { type IdempotencyClaim, releaseClaim } from '../platform/database/idempotency.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import type { Files, SignedUrls } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { type GenerationPolicy, generationContract, generationMessages } from '../temporal/contracts/studio.ts';
import { publishEvent } from '../webhooks/index.ts';
import { videoFailed } from './core/events.ts';
import { formatId } from './core/ids.ts';
import { type GenerationError, generationStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';

/** The data for the end of a generation. */
export interface GenerationJobServices {
  files: Pick<Files, 'remove'>;
  generationWaiters: Waiters;
  generationPolicy: GenerationPolicy;
  draining: AbortController;
}

const table = 'generation';
const isOpen = `status in (${generationStates.sql('processing')})`;

const stop = statement({
  name: 'generation.stop',
  parameters: { id: 'uuid', status: 'text', error: 'jsonb?' },
  row: {
    kind: typed<MediaKind>('text'),
    finishedAt: 'timestamptz',
    claim: typed<Pick<IdempotencyClaim, 'method' | 'path' | 'key'> | null>('jsonb?'),
    input: 'text?',
  },
  text: `update generation set status = :status, error = :error, image_url = null, finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and ${isOpen}
   returning kind, finished_at as "finishedAt", claim, image->>'file' as input`,
});

/**
 * How long a generation of the sandbox counts as under way after its start at most, unless it ends or waits for its time
 * before: it may be made in another process.
 */
const sandboxBurstMs = 500;

export const timedOut = { code: 'timeout', message: 'The generation did not finish in time.' } as const;

/** A picture, a video or music made by a model. */
export const generationJob = defineJob<{
  services: GenerationJobServices;
  policy: GenerationPolicy;
  row: { id: string; kind: MediaKind };
  hint: { waiter: string | null; instant: boolean };
  /** Null: it was cancelled. */
  error: GenerationError | null;
}>({
  contract: generationContract,
  plural: 'generations',
  table,
  isOpen,
  failPoints: failPoint.names,
  policy: ({ generationPolicy }) => generationPolicy,
  waiters: ({ generationWaiters }) => generationWaiters,
  deadline: {
    ms: ({ deadlineMs: { video, others } }) => [video, others],
    sql: `case when kind = 'video' then (:ages)[1] else (:ages)[2] end`,
    graceMs: 120_000,
  },
  errors: {
    timeout: timedOut,
    terminated: { code: 'provider_error', message: 'The generation was terminated by an operator.' },
    unexpected: { code: 'provider_error', message: 'Something went wrong on our side.' },
    cancelled: null,
  },
  async stop({ files }, { tx, voidCredits }, { id }, error) {
    const ended = await tx.one(stop, {
      id,
      status: error ? 'failed' : 'cancelled',
      error: error && JSON.stringify(error),
    });
    if (!ended) return false;
    if (ended.input !== null) await files.remove(tx, [ended.input]);
    await voidCredits();
    // The caller is answered that the request is not valid, which does not use the key up.
    if (ended.claim && error?.path !== undefined) await releaseClaim(tx, ended.claim, id);
    // A fault of the request was its answer: it never became a job.
    if (ended.kind === 'video' && error && error.path === undefined) {
      const { code, message } = error;
      const failedAt = ended.finishedAt.toISOString();
      await publishEvent(tx, videoFailed, id, { videoId: id, status: 'failed', error: { code, message }, failedAt });
    }
    return true;
  },
  start: {
    columns: 'id, kind',
    row: { id: 'uuid', kind: 'text' },
    options: ({ kind, id }, hint) => ({
      // No request waits for a video.
      priority: kind === 'video' ? priorities.retry : priorities.prompt,
      summary: formatId(kind, id),
      ...(hint?.instant && { args: { instant: true } }),
    }),
    // A provider does the work of the others.
    busyUntil: ({ generationWaiters, draining }, { tenant }, id) =>
      tenant.environment === 'test' ? generationWaiters.waitForChange(id, sandboxBurstMs, draining.signal) : undefined,
  },
  gauges: {
    name: 'generations',
    title: 'Generations of Studio',
    kinds: ['image', 'video', 'music', 'upscale', 'background_removal'] satisfies MediaKind[],
  },
});

export const generationSubmission = jobSubmission({ contract: generationContract, table, isOpen });

/** Has the workflow ask the provider now. Harmless when it is over or was never started. */
export const wakeGeneration = (temporal: TemporalClient, generationId: string): Promise<void> =>
  temporal.signalIfOpen(generationJob.workflowId(generationId), generationMessages.providerReported);

export interface EndServices extends GenerationJobServices {
  files: Files;
  signedUrls: SignedUrls;
}
