import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { generationWorkflowId, studioWorkflows } from '../temporal/contracts/studio.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import type { Deadlines } from './core/deadlines.ts';
import { type GenerationError, generationStates } from './core/status.ts';
import { type StopServices, stopGeneration } from './end-generation.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 120_000;

interface Overdue extends Tenant {
  id: string;
  correlationId: string;
}

const findOverdue = statement<Overdue>(
  'generation.overdue',
  `select id, organization_id as "organizationId", environment, correlation_id as "correlationId" from generation
    where status in (${generationStates.sql('processing')})
      and created_at < clock_timestamp()
            - make_interval(secs => case when kind = 'video' then $1::float8 else $2::float8 end / 1000)
    order by created_at limit $3`,
);

const hasOpen = statement<{ found: boolean }>(
  'generation.any_open',
  `select exists (select from generation where status in (${generationStates.sql('processing')})) as found`,
);

const findOpen = statement<Overdue>(
  'generation.find_open',
  `select id, organization_id as "organizationId", environment, correlation_id as "correlationId" from generation
    where id = any($1::uuid[]) and status in (${generationStates.sql('processing')})`,
);

type WatchServices = StopServices & { database: Database };

async function end(services: WatchServices, { id, correlationId, ...tenant }: Overdue, error: GenerationError) {
  const scope = new Scope(services.database, tenant, correlationId);
  return stopGeneration(services, scope, { generationId: id, waiter: null }, error);
}

/**
 * Ends generations that nobody works on any more, whatever became of their workflow: they have failed, and their credits
 * are given back. Across all tenants.
 * @returns how many
 */
export async function endOverdueGenerations(
  services: WatchServices,
  deadlines: Deadlines,
  limit: number,
): Promise<number> {
  const { database } = services;
  const limits = [deadlines.video + graceMs, deadlines.others + graceMs];
  const overdue = await sqlOn(database.pool).rows(findOverdue, [...limits, limit]);
  const error = { code: 'timeout', message: 'The generation did not finish in time.' } as const;
  for (const generation of overdue) await end(services, generation, error);
  return overdue.length;
}

/**
 * Ends the generations whose workflows an operator terminated, or that timed out: they have failed, and their credits are
 * given back. What is older is ended when it is overdue.
 */
export const watchStoppedGenerations = (
  services: WatchServices & { temporal: TemporalClient },
): (() => Promise<number>) =>
  watchEachStopped(services, {
    ...{ queue: queues.generation, type: studioWorkflows.makeGeneration, workflowId: generationWorkflowId },
    ...{ hasOpen, findOpen },
    end: (one) =>
      end(services, one, { code: 'provider_error', message: 'The generation was terminated by an operator.' }),
  });
