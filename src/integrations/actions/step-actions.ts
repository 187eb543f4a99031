import { setTimeout as sleep } from 'node:timers/promises';
import { fingerprintOf, resourceDeleted } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { findPlan } from '../../tenancy/index.ts';
import { type BeginServices, firstAttempt, requireConnection } from './begin-action.ts';
import { createAction } from './create-action.ts';
import { answerOf, findAction } from './find-action.ts';
import { actionJob } from './job.ts';
import { makeAttempt, performNext } from './perform-action.ts';
import { requestAction } from './request-action.ts';

/** An action that a step of a workflow asks for. */
export interface ActionOfStep {
  integrationId: string;
  actionId: string;
  payload: Record<string, unknown>;
  /** The same for each execution of the step. */
  key: string;
  signal: AbortSignal;
}

/**
 * Performs an action within an activity that Temporal retries, and so without a workflow of its own, which only a delayed action
 * has. Once for each key: a second call with a key acts only if the first one certainly did nothing.
 * @throws AppError as a call of the action; the reason of `signal`
 */
export async function performForStep(
  services: BeginServices,
  scope: Scope,
  { integrationId, actionId: name, payload, key, signal }: ActionOfStep,
): Promise<unknown> {
  const requested = requestAction(integrationId, name, payload);
  const path = `/integrations/${integrationId}/actions/${name}`;
  const idempotency = { method: 'STEP', path, key, fingerprint: fingerprintOf(null) };
  let created = await actionJob.findEarlier(scope, idempotency);
  let accountId: string | undefined;
  if (!created) {
    ({ id: accountId } = (await requireConnection(services, scope, integrationId)).account);
    created = await createAction(services, scope, {
      requested,
      accountId,
      idempotency,
      waiter: services.actionWaiters.channel,
      plan: await findPlan(scope),
      firstBy: requested.delaySeconds > 0 ? 'workflow' : 'caller_alone',
    });
  }
  const { id, replayed } = created;
  const ref = { id, waiter: null };
  const found = async () => {
    const run = await findAction(services.sealer, scope, id);
    if (!run) throw resourceDeleted();
    return run;
  };
  try {
    let isFirst = !replayed;
    for (;;) {
      if (!isFirst || requested.delaySeconds > 0) {
        const run = await found();
        if (run.delayed || run.status !== 'processing') return answerOf(run);
      }
      const progress = isFirst
        ? await makeAttempt(services, scope, ref, firstAttempt(requested, id, accountId!), signal)
        : await performNext(services, scope, ref, signal);
      isFirst = false;
      if (progress.kind === 'pause' || progress.kind === 'elsewhere') {
        await sleep(progress.ms, undefined, { signal });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    await actionJob.stop(services, scope, ref, 'cancelled').catch(() => {});
    throw signal.reason;
  }
}
