import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { abortOpenBulkActions } from './bulk-actions/bulk-actions.ts';
import { deleteAutomation } from './definitions/automations.ts';

const findOpen = statement({
  name: 'automation.of_tenant',
  row: { id: 'uuid', isDeleted: 'boolean' },
  text: `select id, deleted_at is not null as "isDeleted" from automation
    where organization_id = :organizationId and environment = :environment order by deleted_at nulls first limit 500`,
});

/** Deletes the workflows of a tenant, and aborts its bulk actions. @returns whether some are still to be purged */
export async function endAutomations(scope: Scope): Promise<boolean> {
  await abortOpenBulkActions(scope);
  const open = await scope.rows(findOpen);
  for (const { id, isDeleted } of open) if (!isDeleted) await deleteAutomation(scope, id);
  return open.length > 0;
}
