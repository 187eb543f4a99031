import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

const findNames = statement({
  name: 'automation.names',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from automation
    where organization_id = :organizationId and environment = :environment and id = any(:ids) and deleted_at is null`,
});

/** @returns the names of those workflows that the organization has, by id */
export async function findWorkflowNames(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const found = await scope.rows(findNames, { ids: [...new Set(ids)] });
  return new Map(found.map(({ id, name }) => [id, name]));
}
