import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { ActionFailure, ActionStatus } from '../core/action-status.ts';
import { actionRunIds } from '../core/ids.ts';
import { publishedFailure } from '../published-failure.ts';
import { cancelScheduledAction, type EndServices } from './end-action.ts';

/** The published state of a requested action. */
export interface ActionRunView {
  actionRunId: string;
  integration: string;
  action: string;
  status: PublishedStatus;
  runAt: string;
  endedAt: string | null;
  error: ActionRunError | null;
}

interface ActionRunError {
  code: string;
  message: string;
  /** The provider's own code. */
  providerCode?: string;
}

export const publishedStatuses = ['scheduled', 'running', 'completed', 'failed', 'cancelled', 'unknown'] as const;
type PublishedStatus = (typeof publishedStatuses)[number];

interface Row {
  id: string;
  integration: string;
  action: string;
  status: ActionStatus;
  failure: ActionFailure | null;
  dueAt: Date;
  finishedAt: Date | null;
}

const find = statement({
  name: 'action.find_run',
  parameters: { id: 'uuid' },
  row: {
    id: 'uuid',
    integration: 'text',
    action: 'text',
    status: typed<ActionStatus>('text'),
    failure: typed<ActionFailure | null>('jsonb?'),
    dueAt: 'timestamptz',
    finishedAt: 'timestamptz?',
  },
  text: `select id, integration, action, status, failure, due_at as "dueAt", finished_at as "finishedAt"
     from integration_action where organization_id = :organizationId and environment = :environment and id = :id`,
});

function errorOf({ status, failure, integration, action }: Row): ActionRunError | null {
  if (failure === null || (status !== 'failed' && status !== 'unknown')) return null;
  const { code, message } = publishedFailure({ integrationId: integration, actionId: action }, failure);
  return { code, message, ...(failure.providerCode !== undefined && { providerCode: failure.providerCode }) };
}

function toView(row: Row): ActionRunView {
  const { id, integration, action, status, dueAt, finishedAt } = row;
  return {
    actionRunId: actionRunIds.format(id),
    integration,
    action,
    status: status === 'processing' ? 'running' : status,
    runAt: dueAt.toISOString(),
    endedAt: finishedAt?.toISOString() ?? null,
    error: errorOf(row),
  };
}

/**
 * The state of a requested action. It is kept for a day after its end.
 * @param actionRunId a UUID or `act_…`
 * @throws AppError not_found
 */
export async function getActionRun(scope: Scope, actionRunId: string): Promise<ActionRunView> {
  const id = actionRunIds.parse(actionRunId);
  const row = id === undefined ? undefined : await scope.one(find, { id });
  if (!row) throw new AppError('not_found', 'There is no such action.', { actionRunId });
  return toView(row);
}

/**
 * Cancels an action that waits for its time. Cancelling it again changes nothing.
 * @throws AppError not_found; conflict once it is being performed or has ended otherwise
 */
export async function cancelActionRun(
  services: EndServices,
  scope: Scope,
  actionRunId: string,
): Promise<ActionRunView> {
  const { status, ...found } = await getActionRun(scope, actionRunId);
  if (status === 'scheduled') await cancelScheduledAction(services, scope, actionRunIds.parse(found.actionRunId)!);
  const run = await getActionRun(scope, actionRunId);
  if (run.status === 'cancelled') return run;
  throw new AppError('conflict', 'Only an action that is still scheduled can be cancelled.', {
    actionRunId: run.actionRunId,
    status: run.status,
  });
}
