import { databaseFailure } from '../../../src/platform/database-errors.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Scope } from '../../../src/platform/scope.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { type Call, findCall } from '../../../src/voice/calls.ts';
import type { CreatedCall } from '../../../src/voice/create-call.ts';
import { callFailed, callGone } from '../../../src/voice/errors.ts';
import type { ApiContext } from '../../context.ts';
import { markReplayed } from '../../idempotency.ts';

/** For an end that is recorded by a sweep. */
const lingerMs = 150_000;

const inProgress = () =>
  new AppError('idempotency_in_progress', 'The request with this Idempotency-Key is still in progress.');

const notWaitedFor = () =>
  new AppError(
    'service_unavailable',
    'The answer is not there yet. Send the request again with its Idempotency-Key.',
    undefined,
    { retryAfter: 5 },
  );

/** Undefined while it has not ended, and while the database cannot be reached: nobody knows then, and the caller waits on. */
async function findEnded({ sealer }: Services, scope: Scope, callId: string): Promise<Call | 'gone' | undefined> {
  try {
    const call = await findCall(sealer, scope, callId);
    if (!call) return 'gone';
    return call.status === 'processing' ? undefined : call;
  } catch (error) {
    if (databaseFailure(error)?.code === 'service_unavailable') return undefined;
    throw error;
  }
}

/** Why nothing is told to a caller that may not have it any more, or does not wait any more. */
export async function refusalOf(open: OpenRequest): Promise<AppError | undefined> {
  return (await open.refusal()) ?? (open.signal.aborted ? notWaitedFor() : undefined);
}

/**
 * Waits for the end of a call. It goes on when its caller hangs up.
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
  const refusal = await refusalOf(open);
  if (refusal) throw refusal;
  if (call === undefined) throw replayed ? inProgress() : notWaitedFor();
  if (call === 'gone') throw callGone();
  markReplayed(c, replayed);
  if (call.status !== 'completed') throw callFailed();
  c.header('X-Credits-Used', String(call.price));
  return call;
}
