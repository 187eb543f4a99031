import type { CreatedJob } from '../../../src/jobs/index.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import type { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { type Call, findCall } from '../../../src/voice/calls.ts';
import { callFailed, storageFailed } from '../../../src/voice/errors.ts';
import { awaitJob } from '../../await-job.ts';
import type { ApiContext } from '../../context.ts';
import { markReplayed } from '../../idempotency.ts';

/** A call that has ended. */
export interface EndedCall extends Call {
  /** Whether an earlier request made it. */
  replayed: boolean;
  /** The failure that its caller gets where it did not complete. */
  failure: AppError | undefined;
}

/**
 * Waits for the end of a call, which continues when its caller disconnects.
 * @throws AppError as `awaitJob`
 */
export async function awaitCall(
  { sealer, voiceWaiters: waiters, voicePolicy: { deadlineMs } }: Services,
  scope: Scope,
  open: OpenRequest,
  created: CreatedJob,
): Promise<EndedCall> {
  const { id, replayed } = created;
  const call = await awaitJob(created, {
    open,
    waiters,
    deadlineMs,
    find: () => findCall(sealer, scope, id),
    isDecided: ({ status }) => status !== 'processing',
  });
  const failed = () => (call.error?.code === 'service_unavailable' ? storageFailed() : callFailed());
  return { ...call, replayed, failure: call.status === 'completed' ? undefined : failed() };
}

/**
 * Sets the headers of the answer for the cost of a call, and for an earlier request that made it.
 * @throws AppError ai_provider_error or service_unavailable where it failed
 */
export function describeCall(c: ApiContext, { price, replayed, failure }: EndedCall): void {
  markReplayed(c, replayed);
  if (failure) throw failure;
  c.header('X-Credits-Used', String(price));
}
