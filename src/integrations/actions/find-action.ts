import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { ActionFailure, ActionStatus } from '../core/action-status.ts';
import { actionRunIds } from '../core/ids.ts';
import { publishedFailure } from '../published-failure.ts';
import { actionContents } from './sealed-action.ts';

/** The state of an action. */
export interface ActionRun {
  id: string;
  integration: string;
  action: string;
  status: ActionStatus;
  /** The provider's answer, when it completed. */
  answer: unknown;
  /** The failure, when it failed or its outcome is unknown. */
  failure: ActionFailure | null;
  dueAt: Date;
  /** Whether it was requested with a delay. */
  delayed: boolean;
}

const find = statement({
  name: 'action.find',
  parameters: { actionId: 'uuid' },
  row: {
    id: 'uuid',
    integration: 'text',
    action: 'text',
    status: typed<ActionStatus>('text'),
    answer: 'text?',
    failure: typed<ActionFailure | null>('jsonb?'),
    dueAt: 'timestamptz',
    delayed: 'boolean',
  },
  text: `select id, integration, action, status, answer, failure, due_at as "dueAt", delayed from integration_action
    where organization_id = :organizationId and environment = :environment and id = :actionId`,
});

/** @returns undefined when it was removed, a day after it was asked for */
export async function findAction(sealer: Sealer, scope: Scope, actionId: string): Promise<ActionRun | undefined> {
  const row = await scope.one(find, { actionId });
  if (!row) return undefined;
  const answer = row.answer === null ? undefined : actionContents(sealer, scope).open(actionId, 'answer', row.answer);
  return { ...row, answer };
}

/** The answer for a delayed action. */
interface ScheduledAnswer {
  status: 'scheduled';
  /** `act_…`: operators find its workflow and its entry of the audit log by it. */
  actionRunId: string;
  /** ISO 8601, in UTC. */
  runAt: string;
}

/** The failure of an action that an operator cancelled. */
const notDone: ActionFailure = { code: 'action_failed', outcome: 'failed' };

/**
 * The answer for the caller of an action: the provider's, or the time of a delayed action.
 * @param run one that has ended, or is delayed
 * @throws AppError if it was not performed
 */
export function answerOf({ integration, action, failure, ...run }: ActionRun): unknown {
  if (run.delayed) {
    const { id, dueAt } = run;
    const actionRunId = actionRunIds.format(id);
    return { status: 'scheduled', actionRunId, runAt: dueAt.toISOString() } satisfies ScheduledAnswer;
  }
  if (run.status === 'completed') return run.answer;
  throw publishedFailure({ integrationId: integration, actionId: action }, failure ?? notDone);
}
