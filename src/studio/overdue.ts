import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { deadlineMs } from './core/deadlines.ts';
import { generationStates } from './core/status.ts';
import { type EndServices, stopGeneration } from './end-generation.ts';

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

/**
 * Ends generations that nobody works on any more, for example because an operator terminated their workflow: they have
 * failed, and their credits are given back. Across all tenants.
 * @returns how many
 */
export async function endOverdueGenerations(
  services: Pick<EndServices, 'waiters'> & { database: Database },
  limit: number,
): Promise<number> {
  const { database } = services;
  const limits = [deadlineMs('video') + graceMs, deadlineMs('image') + graceMs];
  const overdue = await sqlOn(database.pool).rows(findOverdue, [...limits, limit]);
  const error = { code: 'timeout', message: 'The generation did not finish in time.' } as const;
  for (const { id, correlationId, ...tenant } of overdue) {
    await stopGeneration(
      services,
      new Scope(database, tenant, correlationId),
      { generationId: id, waiter: null },
      error,
    );
  }
  return overdue.length;
}
