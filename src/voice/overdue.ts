import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { voiceCallWorkflowId, voiceWorkflows } from '../temporal/contracts/voice.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import { type VoiceCallError, voiceCallStates } from './core/status.ts';
import { type StopServices, stopCall } from './end-call.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

interface Overdue extends Tenant {
  id: string;
  correlationId: string;
}

const columns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;
const isOpen = `status in (${voiceCallStates.sql('processing')})`;

const findOverdue = statement<Overdue>(
  'voice.overdue',
  `select ${columns} from voice_call
    where ${isOpen} and created_at < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
    order by created_at limit $2`,
);

const hasOpen = statement<{ found: boolean }>(
  'voice.any_open',
  `select exists (select from voice_call where ${isOpen}) as found`,
);

const findOpen = statement<Overdue>(
  'voice.find_open',
  `select ${columns} from voice_call where id = any($1::uuid[]) and ${isOpen}`,
);

const forget = statement<{ count: number }>(
  'voice.forget',
  `with old as (
     delete from voice_call where ctid = any(array(
       select ctid from voice_call
        where created_at <= clock_timestamp() - make_interval(hours => $1) and not ${isOpen}
        order by created_at limit $2))
     returning 1)
   select count(*)::int as count from old`,
);

type WatchServices = StopServices & { database: Database };

function end(services: WatchServices, { id, correlationId, ...tenant }: Overdue, error: VoiceCallError) {
  const scope = new Scope(services.database, tenant, correlationId);
  return stopCall(services, scope, { callId: id, waiter: null }, error);
}

/**
 * Ends calls that nobody works on any more, whatever became of their workflow: they have failed, and their credits are given
 * back. Across all tenants.
 * @returns how many
 */
export async function endOverdueCalls(services: WatchServices, deadlineMs: number, limit: number): Promise<number> {
  const overdue = await sqlOn(services.database.pool).rows(findOverdue, [deadlineMs + graceMs, limit]);
  const error = { code: 'timeout', message: 'The provider did not answer in time.' } as const;
  for (const call of overdue) await end(services, call, error);
  return overdue.length;
}

/** Ends the calls whose workflows an operator terminated, or that timed out. */
export const watchStoppedCalls = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    ...{ queue: queues.generation, type: voiceWorkflows.performVoiceCall, workflowId: voiceCallWorkflowId },
    ...{ hasOpen, findOpen },
    end: (one) => end(services, one, { code: 'provider_error', message: 'The call was terminated by an operator.' }),
  });

/** As long as an Idempotency-Key is kept, which is taken with its call and so is forgotten first. */
const keptHours = 24;

/** Removes the calls of the day before, of all tenants. @returns how many; as many as `limit`: there may be more */
export async function forgetCalls(database: Database, limit: number): Promise<number> {
  return (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}
