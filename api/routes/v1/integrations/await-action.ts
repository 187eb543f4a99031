import type { CreatedAction } from '../../../../src/integrations/actions/create-action.ts';
import { type ActionRun, actionRemoved, findAction } from '../../../../src/integrations/actions/find-action.ts';
import { readPatiently } from '../../../../src/platform/database-errors.ts';
import { requestInProgress } from '../../../../src/platform/idempotency.ts';
import type { Scope } from '../../../../src/platform/scope.ts';
import type { Services } from '../../../../src/services.ts';
import type { OpenRequest } from '../../../../src/tenancy/open-requests.ts';
import { lingerMs, notYetThere, refusalOf } from '../../../awaited-answer.ts';

/** The action once it can be answered: it has ended, or is delayed. */
async function findAnswer(
  { sealer }: Services,
  scope: Scope,
  actionId: string,
): Promise<ActionRun | 'gone' | undefined> {
  const run = await readPatiently(async () => (await findAction(sealer, scope, actionId)) ?? 'gone', undefined);
  return run === 'gone' || run?.delayed || run?.status !== 'processing' ? run : undefined;
}

/**
 * Waits for the end of an action, which continues when its caller disconnects.
 * @throws AppError idempotency_in_progress while an earlier request with the key is not answered; service_unavailable when
 *   this process drains; unauthorized when the key ends meanwhile
 */
export async function awaitAction(
  services: Services,
  scope: Scope,
  open: OpenRequest,
  { actionId, replayed, isDelayed }: CreatedAction & { isDelayed: boolean },
): Promise<ActionRun> {
  const look = () => findAnswer(services, scope, actionId);
  const limitMs = services.actionPolicy.deadlineMs + lingerMs;
  const isThere = replayed || isDelayed;
  const run = isThere ? await look() : await services.actionWaiters.wait(actionId, look, limitMs, open.signal);
  const refusal = await refusalOf(open, 'answer');
  if (refusal) throw refusal;
  if (run === undefined) throw replayed ? requestInProgress() : notYetThere('answer');
  if (run === 'gone') throw actionRemoved();
  return run;
}
