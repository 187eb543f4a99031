import type { ResourceId } from '../platform/core/ids.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
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

const find = systemStatement({
  name: 'audit.of_organization',
  parameters: {
    organizationId: 'uuid',
    before: 'int',
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
    where organization_id = :organizationId and number < :before
      and (:actor is null or actor = :actor) and (:action is null or action = :action)
      and (:since is null or recorded_at >= :since) and (:until is null or recorded_at < :until)
    order by number desc limit :limit`,
});

const findNames = systemStatement({
  name: 'audit.actor_names',
  parameters: { organizationId: 'uuid', keyIds: 'uuid[]', userIds: 'uuid[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from api_key where organization_id = :organizationId and id = any(:keyIds)
    union all select id, email from auth."user" where id = any(:userIds)`,
});

const maxNumber = 2_147_483_647;
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
 * An organization's entries, newest first.
 * @param after the number of an entry that is not shown any more
 * @param ids the kind of id that each action's target has
 */
export async function readAuditLog(
  database: Database,
  organizationId: string,
  { actor, action, from, to }: AuditFilter,
  { limit, after }: { limit: number; after: number | undefined },
  ids: ReadonlyMap<string, ResourceId>,
): Promise<{ entries: ShownAuditEntry[]; next: number | null }> {
  const sql = sqlOn(database.pool);
  const rows = await sql.rows(find, {
    organizationId,
    before: after ?? maxNumber,
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
  const asked = { organizationId, keyIds: actorsOf('key'), userIds: actorsOf('user') };
  const found = asked.keyIds.length + asked.userIds.length > 0 ? await sql.rows(findNames, asked) : [];
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
  return { entries, next: rows.length > limit ? shown.at(-1)!.number : null };
}
