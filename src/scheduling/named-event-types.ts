import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { NamedThing } from '../platform/parts/step-kind.ts';
import { eventTypeIds } from './core/ids.ts';

const findNames = statement({
  name: 'event_type.names',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from scheduling_event_type
    where organization_id = :organizationId and environment = :environment and id = any(:ids) and deleted_at is null`,
});

const findNamed = statement({
  name: 'event_type.named',
  parameters: { names: 'text[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from scheduling_event_type
    where organization_id = :organizationId and environment = :environment and name = any(:names) and deleted_at is null
    order by created_at desc limit 1000`,
});

/** The event type of a step that books. */
export const namedEventType: NamedThing = {
  member: 'eventTypeId',
  noun: 'event type',
  async names(scope: Scope, ids) {
    const parsed = new Map(ids.map((id) => [id, eventTypeIds.parse(id)]));
    const uuids = [...parsed.values()].filter((id) => id !== undefined);
    if (uuids.length === 0) return new Map();
    const names = new Map((await scope.rows(findNames, { ids: uuids })).map(({ id, name }) => [id, name]));
    return new Map(
      [...parsed].flatMap(([id, uuid]) => (uuid && names.has(uuid) ? [[id, names.get(uuid)!] as const] : [])),
    );
  },
  async find(scope: Scope, names) {
    const found = await scope.rows(findNamed, { names });
    return found.map(({ id, name }) => ({ id: eventTypeIds.format(id), name }));
  },
};
