import type { ResourceId } from '../platform/core/ids.ts';
import type { Database } from '../platform/database/database.ts';
import type { Scope } from '../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { keyIds } from '../tenancy/core/ids.ts';

interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

interface ShownAuditEntry {
  at: string;
  actor: { type: 'key' | 'user' | 'operator' | 'system'; id: string | null; name: string | null };
  action: string;
  target: { type: string; id: string };
  requestId: string | null;
  ip: string | null;
  changes: { path: string; from: unknown; to: unknown }[];
}

/** Maximum entries that a page checks against its filter. The page may then be short. */
const maxScan = 10_000;

const find = statement({
  name: 'audit.of_organization',
  parameters: {
    oldest: 'int',
    newest: 'int',
    actor: 'text?',
    action: 'text?',
    since: 'timestamptz?',
    until: 'timestamptz?',
    limit: 'int',
  },
  row: {
    number: 'int',
    action: 'text',
    subjectId: 'uuid',
    actor: 'text',
    facts: typed<Record<string, unknown>>('jsonb'),
    recordedAt: 'timestamptz',
    requestId: 'text?',
    ip: 'text?',
  },
  text: `select number, action, subject_id as "subjectId", actor, facts, recorded_at as "recordedAt",
      request_id as "requestId", ip from audit_log
    where organization_id = :organizationId and :environment is not null and number between :oldest and :newest
      and (:actor is null or actor = :actor) and (:action is null or action = :action)
      and (:since is null or recorded_at >= :since) and (:until is null or recorded_at < :until)
    order by number desc limit :limit`,
});

// Numbers have no gaps and are in the order of the commits: the first one of a time is found like a word in a dictionary.
const findNumber = statement({
  name: 'audit.number_at',
  parameters: { time: 'timestamptz', hoursLater: 'int' },
  row: { number: 'int' },
  text: `with recursive bounds (lower, upper) as (
     select 0, coalesce(max(number), 0) + 1 from audit_log
      where organization_id = :organizationId and :environment is not null
     union all
     select case when is_earlier then middle else lower end, case when is_earlier then upper else middle end
       from bounds cross join lateral (
         select number as middle, recorded_at < :time + :hoursLater * interval '1 hour' as is_earlier from audit_log
          where organization_id = :organizationId and number = (lower + upper) / 2) half
      where upper - lower > 1)
   select upper as number from bounds order by upper - lower limit 1`,
});

const findLatestNumber = statement({
  name: 'audit.latest_number',
  row: { number: 'int' },
  text: `select coalesce(max(number), 0) as number from audit_log
    where organization_id = :organizationId and :environment is not null`,
});

/** The number of the latest entry before a time, or of the latest one of all. */
async function newestOf(scope: Scope, to: Date | undefined): Promise<number> {
  if (!to) return (await scope.one(findLatestNumber))!.number;
  return (await scope.one(findNumber, { time: to, hoursLater: 1 }))!.number - 1;
}

/** The numbers of a time, and some more: an entry has the time at which its transaction asked for it, before its commit. */
async function numbersOf(scope: Scope, { from, to }: AuditFilter): Promise<{ oldest: number; newest: number }> {
  const [first, newest] = await Promise.all([
    from && scope.one(findNumber, { time: from, hoursLater: -1 }),
    newestOf(scope, to),
  ]);
  return { oldest: first?.number ?? 1, newest };
}

const findNames = systemStatement({
  name: 'audit.actor_names',
  parameters: { organizationId: 'uuid', keyIds: 'uuid[]', userIds: 'uuid[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from api_key where organization_id = :organizationId and id = any(:keyIds)
    union all select id, email from auth."user" where id = any(:userIds)`,
});

const userPrefix = /^usr_/;

const uuidOf = (id: string): string | undefined => keyIds.parse(id.replace(userPrefix, 'key_'));

function typeOf(actor: string): ShownAuditEntry['actor']['type'] {
  if (keyIds.matchesPrefix(actor)) return 'key';
  if (userPrefix.test(actor)) return 'user';
  return actor === 'operator' ? 'operator' : 'system';
}

/** A value that changed, with the one before where the entry has it. */
function changesOf({ before, ...facts }: Record<string, unknown>): ShownAuditEntry['changes'] {
  const earlier = (path: string): unknown => {
    if (before !== null && typeof before === 'object') return (before as Record<string, unknown>)[path] ?? null;
    // An entry with one value has the value before by itself.
    return path === Object.keys(facts)[0] ? (before ?? null) : null;
  };
  return Object.entries(facts).map(([path, to]) => ({ path, from: earlier(path), to }));
}

/**
 * An organization's entries, newest first. With a filter a page may be short, or empty, before the end of the list.
 * @param database for the names of actors, who belong to no tenant
 * @param after the number of an entry that is not shown any more
 * @param ids the kind of id that each action's target has
 * @returns `next`, the number from which the next page continues, or null at the end of the list
 */
export async function readAuditLog(
  database: Database,
  scope: Scope,
  filter: AuditFilter,
  { limit, after }: { limit: number; after: number | undefined },
  ids: ReadonlyMap<string, ResourceId>,
): Promise<{ entries: ShownAuditEntry[]; next: number | null }> {
  const { actor, action, from, to } = filter;
  const numbers = await numbersOf(scope, filter);
  const newest = Math.min(numbers.newest, (after ?? Number.POSITIVE_INFINITY) - 1);
  const oldest = Math.max(numbers.oldest, newest - maxScan + 1);
  const rows = await scope.rows(find, {
    oldest,
    newest,
    actor: actor ?? null,
    action: action ?? null,
    since: from ?? null,
    until: to ?? null,
    limit: limit + 1,
  });
  const shown = rows.slice(0, limit);
  const actorsOf = (type: string) =>
    [...new Set(shown.filter((row) => typeOf(row.actor) === type).map((row) => uuidOf(row.actor)))].filter(
      (id) => id !== undefined,
    );
  const { organizationId } = scope.tenant;
  const asked = { organizationId, keyIds: actorsOf('key'), userIds: actorsOf('user') };
  const found = asked.keyIds.length + asked.userIds.length > 0 ? await sqlOn(database.pool).rows(findNames, asked) : [];
  const names = new Map(found.map(({ id, name }) => [id, name]));
  const entries = shown.map((row): ShownAuditEntry => {
    const type = typeOf(row.actor);
    const isNamed = type === 'key' || type === 'user';
    return {
      at: row.recordedAt.toISOString(),
      actor: { type, id: isNamed ? row.actor : null, name: names.get(uuidOf(row.actor) ?? '') ?? null },
      action: row.action,
      target: {
        type: row.action.slice(0, row.action.indexOf('.')),
        id: ids.get(row.action)?.format(row.subjectId) ?? row.subjectId,
      },
      requestId: row.requestId,
      ip: row.ip,
      changes: changesOf(row.facts),
    };
  });
  if (rows.length > limit) return { entries, next: shown.at(-1)!.number };
  return { entries, next: oldest > numbers.oldest ? oldest : null };
}
