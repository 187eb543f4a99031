import type { Database } from './database.ts';
import type { OutboxEntry } from './entities.ts';
import { newId } from './ids.ts';
import { Scope } from './scope.ts';
import { sqlOn, statement } from './sql.ts';
import type { Tenant } from './tenant.ts';

/** The writer does the work itself right after its commit; only after this time is it taken for dead. */
export const writerGraceMs = 5_000;

/** Who does the work first: the writer right after its commit, or whoever drains. */
export type FirstAtIt = 'writer' | 'drain';

interface Owed {
  /** Expressions of columns of `from`, and of parameters. */
  subject: string;
  correlation: string;
  from: string;
  first: FirstAtIt;
}

/**
 * An INSERT that owes work of the tenant $1, $2 for each row of `from`: a CTE of the statement that the work follows
 * from. What becomes of an entry that is there already, the caller appends.
 */
export const enqueueSql = (kind: string, { subject, correlation, from, first }: Owed) =>
  `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
   select uuidv7(), $1::uuid, $2::text, '${kind}', ${subject}, ${correlation}::text, 0, clock_timestamp(),
          clock_timestamp() + make_interval(secs => ${first === 'writer' ? writerGraceMs / 1000 : 0})
     from ${from}`;

export function outboxEntry(scope: Scope, kind: string, subjectId: string): OutboxEntry {
  const now = Date.now();
  return {
    id: newId(),
    ...scope.tenant,
    kind,
    subjectId,
    correlationId: scope.correlationId,
    attempts: 0,
    createdAt: new Date(now),
    availableAt: new Date(now + writerGraceMs),
  };
}

interface Leased extends Tenant {
  id: string;
  kind: string;
  subjectId: string;
  correlationId: string;
}

// Several drains may run at once: each leases other rows, and a lease that its holder did not end runs out.
const leaseEntries = statement<Leased>(
  'outbox.lease',
  `update outbox set available_at = clock_timestamp() + interval '30 seconds', attempts = attempts + 1
    where id in (select id from outbox where available_at <= clock_timestamp()
                  order by available_at limit $1 for update skip locked)
   returning id, kind, subject_id as "subjectId", organization_id as "organizationId", environment,
             correlation_id as "correlationId"`,
);

const deleteEntry = statement('outbox.delete', 'delete from outbox where id = $1');

/** Does what an entry owes. Must be harmless when it was done before. Resolves when the entry may be deleted. */
export type OutboxHandler = (scope: Scope, subjectId: string) => Promise<void>;
/** By kind. The parts declare them. */
export type OutboxHandlers = Record<string, OutboxHandler>;

export interface DrainReport {
  drained: number;
  failed: { kind: string; subjectId: string; error: unknown }[];
}

/** Leases at most `limit` entries that are due and does what they owe. One that fails is due again when its lease ends. */
export async function drainOutbox(database: Database, handlers: OutboxHandlers, limit = 100): Promise<DrainReport> {
  const sql = sqlOn(database.pool);
  const report: DrainReport = { drained: 0, failed: [] };
  const entries = await sql.rows(leaseEntries, [limit]);
  for (const { id, kind, subjectId, organizationId, environment, correlationId } of entries) {
    try {
      const handler = handlers[kind];
      if (!handler) throw new Error(`No part handles outbox entries of the kind ${kind}.`);
      await handler(new Scope(database, { organizationId, environment }, correlationId), subjectId);
      await sql.rows(deleteEntry, [id]);
      report.drained++;
    } catch (error) {
      report.failed.push({ kind, subjectId, error });
    }
  }
  return report;
}
