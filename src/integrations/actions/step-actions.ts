import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/common';
import { fingerprintOf, resourceDeleted } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { findPlan, isDeleted } from '../../tenancy/index.ts';
import { type BeginServices, firstAttempt, requireConnection } from './begin-action.ts';
import { createAction } from './create-action.ts';
import { cancelInterrupted } from './end-action.ts';
import { answerOf, findAction } from './find-action.ts';
import { actionJob } from './job.ts';
import { makeAttempt, performNext } from './perform-action.ts';
import { requestAction } from './request-action.ts';

/** An action that a step of a workflow requests. */
export interface ActionOfStep {
  integrationId: string;
  actionId: string;
  payload: Record<string, unknown>;
  /** The same for each execution of the step. */
  key: string;
  signal: AbortSignal;
}

/** Whether the organization has as many actions under way as its plan includes. */
export const isFull = (error: unknown): error is AppError =>
  error instanceof AppError && error.kind === 'rate_limit_exceeded' && error.retryAfter !== undefined;

const claimOf = ({ integrationId, actionId, key }: ActionOfStep) => ({
  method: 'STEP',
  path: `/integrations/${integrationId}/actions/${actionId}`,
  key,
  fingerprint: fingerprintOf(null),
});

/**
 * Performs an action within an activity that Temporal retries, and so without a workflow of its own, which only a delayed action
 * has. Once for each key: a second call with a key acts only if the first one certainly did nothing.
 * @throws AppError as a call of the action; the reason of `signal`
 */
export async function performForStep(services: BeginServices, scope: Scope, asked: ActionOfStep): Promise<unknown> {
  const { integrationId, actionId, payload, signal } = asked;
  const requested = requestAction(integrationId, actionId, payload);
  const idempotency = claimOf(asked);
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
  /** The attempt that this call makes, or made last. */
  let attempts = replayed ? undefined : 1;
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
        // By an attempt at the step that was taken for dead, and that did nothing: its key is free again.
        const isFree = run.status === 'cancelled' && !run.delayed && attempts === undefined;
        if (isFree && !(await isDeleted(scope))) break;
        if (run.delayed || run.status !== 'processing') return answerOf(run);
      }
      const progress = isFirst
        ? await makeAttempt(services, scope, ref, firstAttempt(requested, id, accountId!), signal)
        : await performNext(services, scope, ref, signal, (begun) => {
            attempts = begun;
          });
      isFirst = false;
      if (progress.kind === 'pause' || progress.kind === 'elsewhere') {
        await sleep(progress.ms, undefined, { signal });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    // Another attempt at the step may go on with the action: Temporal makes one when heartbeats were late. It then stops
    // the activity of this one.
    if (attempts !== undefined) await cancelInterrupted(services, scope, ref, attempts).catch(() => {});
    else if (!(signal.reason instanceof CancelledFailure)) {
      await actionJob.stop(services, scope, ref, 'cancelled').catch(() => {});
    }
    throw signal.reason;
  }
  signal.throwIfAborted();
  return performForStep(services, scope, asked);
}

/**
 * What became of an action whose caller stopped waiting for it.
 * @returns the answer, if there is one; undefined where it was never begun. @throws AppError if it was not performed
 */
export async function findOutcome(services: BeginServices, scope: Scope, asked: ActionOfStep): Promise<unknown> {
  const created = await actionJob.findEarlier(scope, claimOf(asked));
  const run = created && (await findAction(services.sealer, scope, created.id));
  return run && answerOf(run);
}
