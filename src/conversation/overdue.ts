import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { conversationWorkflows, turnWorkflowId } from '../temporal/contracts/conversation.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import { type TurnError, turnStates } from './core/status.ts';
import { type EndServices, stopTurn } from './end-turn.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

interface Overdue extends Tenant {
  id: string;
  correlationId: string;
}

const columns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;
const isOpen = `status in (${turnStates.sql('processing')})`;

const findOverdue = statement<Overdue>(
  'turn.overdue',
  `select ${columns} from conversation_turn
    where ${isOpen} and created_at < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
    order by created_at limit $2`,
);

const hasOpen = statement<{ found: boolean }>(
  'turn.any_open',
  `select exists (select from conversation_turn where ${isOpen}) as found`,
);

const findOpen = statement<Overdue>(
  'turn.find_open',
  `select ${columns} from conversation_turn where id = any($1::uuid[]) and ${isOpen}`,
);

const forget = statement<{ count: number }>(
  'turn.forget',
  `with old as (
     delete from conversation_turn where ctid = any(array(
       select ctid from conversation_turn
        where created_at <= clock_timestamp() - make_interval(hours => $1) and not ${isOpen}
        order by created_at limit $2))
     returning id),
   entries as (delete from conversation_entry e using old where e.turn_id = old.id)
   select count(*)::int as count from old`,
);

type WatchServices = EndServices & { database: Database };

function end(services: WatchServices, { id, correlationId, ...tenant }: Overdue, error: TurnError): Promise<boolean> {
  const scope = new Scope(services.database, tenant, correlationId);
  return stopTurn(services, scope, { turnId: id, waiter: null }, error);
}

/**
 * Ends turns that nobody works on any more, whatever became of their workflow: they have failed, and their credits are given
 * back. Across all tenants.
 * @returns how many
 */
export async function endOverdueTurns(services: WatchServices, deadlineMs: number, limit: number): Promise<number> {
  const overdue = await sqlOn(services.database.pool).rows(findOverdue, [deadlineMs + graceMs, limit]);
  const error = { code: 'timeout', message: 'The model did not answer in time.' } as const;
  for (const turn of overdue) await end(services, turn, error);
  return overdue.length;
}

/** Ends the turns whose workflows an operator terminated, or that timed out. */
export const watchStoppedTurns = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    ...{ queue: queues.generation, type: conversationWorkflows.takeTurn, workflowId: turnWorkflowId },
    ...{ hasOpen, findOpen },
    end: (one) => end(services, one, { code: 'provider_error', message: 'The message was terminated by an operator.' }),
  });

/** As long as an Idempotency-Key is kept, which is taken before its turn is made and so is forgotten first. */
const keptHours = 24;

/** Removes the turns of the day before, of all tenants. @returns how many; as many as `limit`: there may be more */
export async function forgetTurns(database: Database, limit: number): Promise<number> {
  return (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}
