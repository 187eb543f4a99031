import { type Sql, statement, systemStatement } from '../database/sql.ts';
import { typed } from '../database/sql-types.ts';
import { type EnvironmentKey, tenantOf } from '../security/tenant-key.ts';
import type { Environment, Tenant } from '../tenant.ts';

/** An entry that the caller attempts. */
export interface LeasedEntry extends Tenant {
  id: string;
  kind: string;
  subjectId: string;
  correlationId: string;
  attempts: number;
}

// Skips from tenant to tenant along an index, and takes the first of each, then a second, and so on: however many entries a
// tenant has, those of another do not wait for them. Several drains may run at once: each leases other rows, and a lease
// that its holder did not end runs out.
const lease = systemStatement({
  name: 'outbox.lease',
  parameters: {
    kind: 'text',
    limit: 'int',
    leaseMs: 'float8',
    organizationIds: 'uuid[]',
    environments: 'text[]',
    free: 'int[]',
    limitOfOthers: 'int',
  },
  row: {
    id: 'uuid',
    kind: 'text',
    subjectId: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    correlationId: 'text',
    attempts: 'int',
  },
  text: `with recursive tenant as (
     (select organization_id, environment from outbox where kind = :kind and available_at <= atelier_statement_now()
       order by organization_id, environment limit 1)
     union all
     select next.organization_id, next.environment
       from tenant cross join lateral
         (select organization_id, environment from outbox
           where kind = :kind and (organization_id, environment) > (tenant.organization_id, tenant.environment)
             and available_at <= atelier_statement_now()
           order by organization_id, environment limit 1) next),
   due as (
     select entry.id, row_number() over (partition by organization_id, environment order by entry.available_at) as turn,
            entry.available_at
       from tenant
       left join unnest(:organizationIds, :environments, :free) as known (organization_id, environment, free)
            using (organization_id, environment)
      cross join lateral
         (select id, available_at from outbox
           where kind = :kind and organization_id = tenant.organization_id and environment = tenant.environment
             and available_at <= atelier_statement_now()
           order by available_at limit least(:limit, coalesce(known.free, :limitOfOthers))
             for update skip locked) entry)
   update outbox set available_at = atelier_now() + make_interval(secs => :leaseMs / 1000),
          attempts = attempts + 1, last_attempt_at = atelier_now()
    where id in (select id from due order by turn, available_at limit :limit)
   returning id, kind, subject_id as "subjectId", organization_id as "organizationId", environment,
             correlation_id as "correlationId", attempts`,
});

/** How many entries may be leased. */
interface LeaseRoom {
  /** In all. */
  limit: number;
  /** Free slots of tenants that have work. */
  known: ReadonlyMap<EnvironmentKey, number>;
  /** Free slots of each other tenant. */
  ofOthers: number;
}

/** Leases due entries of a kind, the oldest of each tenant first, then the next of each. */
export function leaseEntries(
  sql: Sql,
  kind: string,
  { limit, known, ofOthers }: LeaseRoom,
  leaseMs: number,
): Promise<LeasedEntry[]> {
  const tenants = [...known.keys()].map(tenantOf);
  const organizations = tenants.map(({ organizationId }) => organizationId);
  const environments = tenants.map(({ environment }) => environment);
  return sql.rows(lease, {
    kind,
    limit,
    leaseMs,
    organizationIds: organizations,
    environments,
    free: [...known.values()],
    limitOfOthers: ofOthers,
  });
}

export const finish = statement({
  name: 'outbox.delete',
  parameters: { entryId: 'uuid' },
  text: `delete from outbox where organization_id = :organizationId and environment = :environment and id = :entryId`,
});

// An attempt that exceeded its deadline may still end, and keeps the time that it took with `holdEntry`: the entry is due
// later than its lease ends only then.
export const postpone = statement({
  name: 'outbox.postpone',
  parameters: {
    id: 'uuid',
    waitMs: 'float8',
    error: 'text',
    /** The length of the lease of an attempt that goes on; null for one that ended. */
    leaseMs: 'float8?',
  },
  text: `update outbox
      set available_at = greatest(atelier_now() + make_interval(secs => :waitMs / 1000),
            case when available_at > last_attempt_at + make_interval(secs => :leaseMs / 1000) then available_at end),
          last_error = :error
    where organization_id = :organizationId and environment = :environment and id = :id`,
});

// Skips from kind to kind along an index, however many entries each has.
export const countUnknown = systemStatement({
  name: 'outbox.unknown',
  parameters: { kinds: 'text[]' },
  row: { kind: 'text', count: 'int' },
  text: `with recursive known as (
     (select kind from outbox order by kind limit 1)
     union all
     select (select kind from outbox where kind > known.kind order by kind limit 1) from known
       where known.kind is not null)
   select kind,
          (select count(*)::int from (select from outbox o where o.kind = known.kind limit 10000) counted) as count
     from known where kind <> all(:kinds)`,
});

const findDue = systemStatement({
  name: 'outbox.due',
  parameters: { kinds: 'text[]' },
  row: { kind: 'text' },
  text: `select known.kind from unnest(:kinds) as known (kind)
    where exists (select from outbox o where o.kind = known.kind and o.available_at <= atelier_statement_now())`,
});

/** The kinds that have an entry which is due: one question, because at rest there is none. */
export const dueKinds = async (sql: Sql, kinds: readonly string[]): Promise<string[]> =>
  (await sql.rows(findDue, { kinds })).map(({ kind }) => kind);

const maxErrorLength = 500;

/** A gRPC client and a pool of connections wrap the error that says what happened. */
function innermost(error: Error): Error {
  let inner = error;
  for (let depth = 0; inner.cause instanceof Error && depth < 5; depth++) inner = inner.cause;
  return inner instanceof AggregateError && inner.errors[0] instanceof Error ? inner.errors[0] : inner;
}

/** What operators see of an error: its class and code, and what happened in one line. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const cause = innermost(error);
  const { code } = cause as { code?: unknown };
  const named = `${error.name}${typeof code === 'string' || typeof code === 'number' ? ` ${code}` : ''}`;
  const messages = [...new Set([error.message, cause.message])].filter(Boolean);
  const lines = [named, ...messages].join(': ').replaceAll('\n', ' ');
  return lines.slice(0, maxErrorLength);
}
