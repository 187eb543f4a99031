import { recordPatiently } from '../jobs/index.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import { type Call, type MediaJob, type MediaModel, SubmissionLost } from '../providers/index.ts';
import { generationStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import { generationSubmission } from './job.ts';

/**
 * `lost`: it is not known whether the provider accepted the job. `ended`: the generation ended during the submission,
 * and its provider was asked to cancel the job.
 */
type Submission = { kind: 'submitted'; upstreamId: string } | { kind: 'lost' } | { kind: 'ended' };

// Includes a generation that ended during the submission.
const recordUpstream = statement({
  name: 'generation.record_upstream',
  parameters: { id: 'uuid', upstreamId: 'text' },
  row: { isOpen: 'boolean' },
  text: `update generation set upstream_id = :upstreamId, asked_at = clock_timestamp()
    where organization_id = :organizationId and environment = :environment and id = :id
   returning status in (${generationStates.sql('processing')}) as "isOpen"`,
});

/**
 * Submits a generation to its provider, which may charge for every job: a mark in the row, committed before, prevents a
 * second submission after any crash. The mark is removed if the provider certainly did not take the job.
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
  if (!(await generationSubmission.markSubmitted(scope, job.id))) return { kind: 'lost' };
  failPoint('generation.submitting');
  let upstreamId: string;
  try {
    upstreamId = await model.submit(job, { ...call, signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    if (error instanceof SubmissionLost) return { kind: 'lost' };
    if (error instanceof ProviderFailure && error.retryable) await generationSubmission.unmarkSubmitted(scope, job.id);
    throw error;
  }
  failPoint('generation.submitted');
  // The provider has the job: an interruption of the database must not lose its id.
  const recorded = await recordPatiently(() => scope.one(recordUpstream, { id: job.id, upstreamId }));
  if (recorded?.isOpen) return { kind: 'submitted', upstreamId };
  await model.cancel(job, upstreamId, call);
  return { kind: 'ended' };
}
