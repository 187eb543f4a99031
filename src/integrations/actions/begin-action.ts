import type { Background } from '../../platform/background.ts';
import type { IdempotencyClaim } from '../../platform/idempotency.ts';
import type { Log } from '../../platform/log.ts';
import type { Scope } from '../../platform/scope.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { authExpired, notConnected } from '../errors.ts';
import type { Connected } from '../find-connection.ts';
import { type CreatedAction, createAction } from './create-action.ts';
import { makeAttempt, type PerformServices } from './perform-action.ts';
import type { RequestedAction } from './request-action.ts';
import type { StartedActions } from './started-actions.ts';

export interface BeginServices extends Omit<PerformServices, 'waiters'> {
  temporal: Pick<TemporalClient, 'startsEagerly'>;
  actionWaiters: PerformServices['waiters'];
  startedActions: StartedActions;
  background: Background;
  log: Log;
}

/** The connection that an action would use. @throws AppError not_connected, auth_expired */
export async function requireConnection(
  { integrations }: Pick<BeginServices, 'integrations'>,
  scope: Scope,
  integrationId: string,
): Promise<Connected> {
  const connected = await integrations.findConnection(scope, integrationId);
  if (!connected) throw notConnected(integrationId);
  if (connected.status === 'auth_expired') throw authExpired(integrationId);
  return connected;
}

/** The first attempt of an action, where its creator makes it. */
export const firstAttempt = ({ integrationId, actionId, payload }: RequestedAction, id: string, accountId: string) => ({
  id,
  integration: integrationId,
  action: actionId,
  accountId,
  payload,
  attempts: 1,
  pausedMs: 0,
});

/**
 * Creates an action. If this process would also execute its workflow, it sends the request to the provider at once, while
 * Temporal starts the workflow. The row is marked before.
 * @throws AppError as `createAction`, not_connected, auth_expired
 */
export async function beginAction(
  services: BeginServices,
  scope: Scope,
  requested: RequestedAction,
  { plan, idempotency }: { plan: PlanName; idempotency: IdempotencyClaim | undefined },
): Promise<CreatedAction> {
  const { actionWaiters: waiters, startedActions, background, temporal } = services;
  const { account } = await requireConnection(services, scope, requested.integrationId);
  const begins = requested.delaySeconds === 0 && temporal.startsEagerly(queues.integrations);
  const created = await createAction(services, scope, {
    requested,
    accountId: account.id,
    plan,
    idempotency,
    waiter: waiters.channel,
    firstBy: begins ? 'caller' : 'workflow',
  });
  if (begins && !created.replayed) {
    const { actionId } = created;
    const ending = { actionId, waiter: waiters.channel };
    const attempt = firstAttempt(requested, actionId, account.id);
    const { integrationId: integration, actionId: action } = requested;
    const facts = { actionId, integration, action, correlationId: scope.correlationId, ...scope.tenant };
    services.log.info(facts, 'action begun');
    const progress = makeAttempt({ ...services, waiters }, scope, ending, attempt, new AbortController().signal);
    startedActions.add(actionId, progress);
    const logged = progress.then((end) => services.log.info({ ...facts, end }, 'action attempted'));
    background.run('integration action', logged);
  }
  return created;
}
