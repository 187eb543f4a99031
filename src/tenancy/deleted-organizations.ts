import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';

/**
 * A condition in SQL: the organization was not deleted. Until a deleted one is restored nothing works for it.
 * @param organizationId an expression
 */
export const isKept = (organizationId: string): string =>
  `exists (select from organization kept where kept.id = ${organizationId} and kept.deleted_at is null)`;

const find = statement({
  name: 'organization.is_kept',
  row: { found: 'boolean' },
  text: `select ${isKept(':organizationId')} and :environment is not null as found`,
});

/** Whether the organization was deleted: background work for it stops, and continues after a restore. */
export const isDeleted = async (scope: Scope): Promise<boolean> => !(await scope.one(find))!.found;
