import type { CreatedJob } from '../../../src/jobs/index.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { type Call, findCall } from '../../../src/voice/calls.ts';
import { callFailed, storageFailed } from '../../../src/voice/errors.ts';
import { awaitJob } from '../../await-job.ts';
import type { ApiContext } from '../../context.ts';
import { markReplayed } from '../../idempotency.ts';

/**
 * Waits for the end of a call, which continues when its caller disconnects.
 * @throws AppError as `awaitJob`; ai_provider_error where it failed
 */
export async function awaitCall(
  c: ApiContext,
  { sealer, voiceWaiters: waiters, voicePolicy: { deadlineMs } }: Services,
  open: OpenRequest,
  created: CreatedJob,
): Promise<Call> {
  const call = await awaitJob(created, {
    open,
    waiters,
    deadlineMs,
    find: () => findCall(sealer, c.get('scope'), created.id),
    isDecided: ({ status }) => status !== 'processing',
  });
  markReplayed(c, created.replayed);
  if (call.error?.code === 'service_unavailable') throw storageFailed();
  if (call.status !== 'completed') throw callFailed();
  c.header('X-Credits-Used', String(call.price));
  return call;
}
