import { type Sql, statement } from './sql.ts';
import type { Tenant } from './tenant.ts';
import { type EnvironmentKey, tenantOf } from './tenant-key.ts';

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
const lease = statement<LeasedEntry>(
  'outbox.lease',
  `with recursive tenant as (
     (select organization_id, environment from outbox where kind = $1 and available_at <= statement_timestamp()
       order by organization_id, environment limit 1)
     union all
     select next.organization_id, next.environment
       from tenant cross join lateral
         (select organization_id, environment from outbox
           where kind = $1 and (organization_id, environment) > (tenant.organization_id, tenant.environment)
             and available_at <= statement_timestamp()
           order by organization_id, environment limit 1) next),
   due as (
     select entry.id, row_number() over (partition by organization_id, environment order by entry.available_at) as turn,
            entry.available_at
       from tenant
       left join unnest($4::uuid[], $5::text[], $6::int[]) as known (organization_id, environment, free)
            using (organization_id, environment)
      cross join lateral
         (select id, available_at from outbox
           where kind = $1 and organization_id = tenant.organization_id and environment = tenant.environment
             and available_at <= statement_timestamp()
           order by available_at limit least($2, coalesce(known.free, $7::int)) for update skip locked) entry)
   update outbox set available_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
          attempts = attempts + 1, last_attempt_at = clock_timestamp()
    where id in (select id from due order by turn, available_at limit $2)
   returning id, kind, subject_id as "subjectId", organization_id as "organizationId", environment,
             correlation_id as "correlationId", attempts`,
);

/** How many entries may be leased. */
export interface LeaseRoom {
  /** In all. */
  limit: number;
  /** Free slots of tenants that have work. */
  known: ReadonlyMap<EnvironmentKey, number>;
  /** Free slots of each other tenant. */
  ofOthers: number;
}

/** Leases due entries of a kind, of all tenants in turn. */
export function leaseEntries(
  sql: Sql,
  kind: string,
  { limit, known, ofOthers }: LeaseRoom,
  leaseMs: number,
): Promise<LeasedEntry[]> {
  const tenants = [...known.keys()].map(tenantOf);
  const organizations = tenants.map(({ organizationId }) => organizationId);
  const environments = tenants.map(({ environment }) => environment);
  return sql.rows(lease, [kind, limit, leaseMs, organizations, environments, [...known.values()], ofOthers]);
}

export const finish = statement(
  'outbox.delete',
  'delete from outbox where organization_id = $1 and environment = $2 and id = $3',
);

export const postpone = statement(
  'outbox.postpone',
  `update outbox set available_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000), last_error = $5
    where organization_id = $1 and environment = $2 and id = $3`,
);

// Skips from kind to kind along an index, however many entries each has.
export const countUnknown = statement<{ kind: string; count: number }>(
  'outbox.unknown',
  `with recursive known as (
     (select kind from outbox order by kind limit 1)
     union all
     select (select kind from outbox where kind > known.kind order by kind limit 1) from known where known.kind is not null)
   select kind, (select count(*)::int from (select from outbox o where o.kind = known.kind limit 10000) counted) as count
     from known where kind <> all($1)`,
);

const findDue = statement<{ kind: string }>(
  'outbox.due',
  `select known.kind from unnest($1::text[]) as known (kind)
    where exists (select from outbox o where o.kind = known.kind and o.available_at <= statement_timestamp())`,
);

/** The kinds that have an entry which is due: one question, because at rest there is none. */
export const dueKinds = async (sql: Sql, kinds: readonly string[]): Promise<string[]> =>
  (await sql.rows(findDue, [kinds])).map(({ kind }) => kind);

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
