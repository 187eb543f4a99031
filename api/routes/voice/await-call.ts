import { readPatiently } from '../../../src/platform/database-errors.ts';
import { requestInProgress } from '../../../src/platform/idempotency.ts';
import type { Scope } from '../../../src/platform/scope.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { type Call, findCall } from '../../../src/voice/calls.ts';
import type { CreatedCall } from '../../../src/voice/create-call.ts';
import { callFailed, callGone, storageFailed } from '../../../src/voice/errors.ts';
import { lingerMs, notYetThere, refusalOf } from '../../awaited-answer.ts';
import type { ApiContext } from '../../context.ts';
import { markReplayed } from '../../idempotency.ts';

/** The call once it has ended. */
async function findEnded({ sealer }: Services, scope: Scope, callId: string): Promise<Call | 'gone' | undefined> {
  const call = await readPatiently(async () => (await findCall(sealer, scope, callId)) ?? 'gone', undefined);
  return call === 'gone' || call?.status !== 'processing' ? call : undefined;
}

/**
 * Waits for the end of a call, which continues when its caller disconnects.
 * @throws AppError ai_provider_error where it failed; idempotency_in_progress while an earlier request with the key is not
 *   answered; service_unavailable when this process drains; unauthorized when the key ends meanwhile
 */
export async function awaitCall(
  c: ApiContext,
  services: Services,
  open: OpenRequest,
  { callId, replayed }: CreatedCall,
): Promise<Call> {
  const scope = c.get('scope');
  const look = () => findEnded(services, scope, callId);
  const limitMs = services.voicePolicy.deadlineMs + lingerMs;
  const call = replayed ? await look() : await services.voiceWaiters.wait(callId, look, limitMs, open.signal);
  const refusal = await refusalOf(open, 'answer');
  if (refusal) throw refusal;
  if (call === undefined) throw replayed ? requestInProgress() : notYetThere('answer');
  if (call === 'gone') throw callGone();
  markReplayed(c, replayed);
  if (call.error?.code === 'service_unavailable') throw storageFailed();
  if (call.status !== 'completed') throw callFailed();
  c.header('X-Credits-Used', String(call.price));
  return call;
}
