import { setTimeout as sleep } from 'node:timers/promises';
import { databaseFailure } from '../platform/database-errors.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { type Call, type MediaJob, type MediaModel, SubmissionLost } from '../providers/index.ts';
import { generationStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';

/** `lost`: nobody knows whether the provider took it. `ended`: it ended meanwhile, and its provider was told. */
export type Submission = { kind: 'submitted'; upstreamId: string } | { kind: 'lost' } | { kind: 'ended' };

const markSubmitted = statement<{ id: string }>(
  'generation.mark_submitted',
  `update generation set submitted_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and submitted_at is null
      and status in (${generationStates.sql('processing')})
   returning id`,
);

const unmarkSubmitted = statement<{ id: string }>(
  'generation.unmark_submitted',
  `update generation set submitted_at = null
    where organization_id = $1 and environment = $2 and id = $3 and upstream_id is null
   returning id`,
);

// Also of one that ended meanwhile.
const recordUpstream = statement<{ isOpen: boolean }>(
  'generation.record_upstream',
  `update generation set upstream_id = $4::text, asked_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3
   returning status in (${generationStates.sql('processing')}) as "isOpen"`,
);

/** The provider has the job: an interruption of the database must not lose its id. */
const recordTries = { count: 6, firstMs: 250 };

async function record(scope: Scope, id: string, upstreamId: string): Promise<boolean> {
  for (let tried = 1; ; tried++) {
    try {
      return (await scope.one(recordUpstream, id, upstreamId))?.isOpen ?? false;
    } catch (error) {
      if (!databaseFailure(error) || tried >= recordTries.count) throw error;
      await sleep(recordTries.firstMs * 2 ** (tried - 1));
    }
  }
}

/**
 * Hands a generation to its provider, which may charge for every job: a mark in the row, committed before, keeps it from
 * being handed over twice whatever crashes. It is taken away when the provider certainly did not take the job.
 * @throws ProviderFailure; errors of the database
 */
export async function submitOnce(
  scope: Scope,
  model: MediaModel,
  job: MediaJob,
  call: Call,
  timeoutMs: number,
): Promise<Submission> {
  if (model.repeatable) return { kind: 'submitted', upstreamId: await model.submit(job, call) };
  if (!(await scope.one(markSubmitted, job.id))) return { kind: 'lost' };
  failPoint('generation.submitting');
  let upstreamId: string;
  try {
    upstreamId = await model.submit(job, { ...call, signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    if (error instanceof SubmissionLost) return { kind: 'lost' };
    if (error instanceof ProviderFailure && error.retryable) await scope.one(unmarkSubmitted, job.id);
    throw error;
  }
  failPoint('generation.submitted');
  if (await record(scope, job.id, upstreamId)) return { kind: 'submitted', upstreamId };
  await model.cancel(job, upstreamId, call);
  return { kind: 'ended' };
}
