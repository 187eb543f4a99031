import type { CreatedJob, DirectWork } from '../../jobs/index.ts';
import type { Background } from '../../platform/concurrency/background.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import type { ActionProgress } from '../../temporal/contracts/integrations.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import type { Connected } from '../connections/find-connection.ts';
import { authExpired, notConnected } from '../errors.ts';
import { createAction } from './create-action.ts';
import { makeAttempt, type PerformServices } from './perform-action.ts';
import type { RequestedAction } from './request-action.ts';

export interface BeginServices extends PerformServices {
  temporal: Pick<TemporalClient, 'startsEagerly'>;
  startedActions: DirectWork<ActionProgress>;
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

/** The first attempt of an action, if its creator makes it. */
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
): Promise<CreatedJob> {
  const {
    actionWaiters: { channel: waiter },
    startedActions,
    background,
    temporal,
  } = services;
  const { account } = await requireConnection(services, scope, requested.integrationId);
  const begins = requested.delaySeconds === 0 && temporal.startsEagerly(queues.integrations);
  const created = await createAction(services, scope, {
    requested,
    accountId: account.id,
    plan,
    idempotency,
    waiter,
    firstBy: begins ? 'caller' : 'workflow',
  });
  if (begins && !created.replayed) {
    const { id } = created;
    const attempt = firstAttempt(requested, id, account.id);
    const { integrationId: integration, actionId: action } = requested;
    const facts = { actionId: id, integration, action, correlationId: scope.correlationId, ...scope.tenant };
    services.log.info(facts, 'action begun');
    const progress = makeAttempt(services, scope, { id, waiter }, attempt, new AbortController().signal);
    startedActions.add(id, progress);
    const logged = progress.then((end) => services.log.info({ ...facts, end }, 'action attempted'));
    background.run('integration action', logged);
  }
  return created;
}
