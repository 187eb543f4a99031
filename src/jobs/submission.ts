import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { JobDeclaration, JobTypes } from './declaration.ts';

/**
 * The mark in a row, committed before a request that a provider may charge for: after a crash it is not known whether the
 * provider has done it, so the request is not repeated. The job's table needs a column `submitted_at`.
 */
export function jobSubmission({
  contract: { name },
  table,
  isOpen,
}: Pick<JobDeclaration<JobTypes>, 'contract' | 'table' | 'isOpen'>) {
  const mark = statement({
    name: `${name}.mark_submitted`,
    parameters: { id: 'uuid' },
    row: { id: 'uuid' },
    text: `update ${table} set submitted_at = atelier_now()
      where organization_id = :organizationId and environment = :environment and id = :id and submitted_at is null and ${isOpen}
     returning id`,
  });
  const unmark = statement({
    name: `${name}.unmark_submitted`,
    parameters: { id: 'uuid' },
    row: { id: 'uuid' },
    text: `update ${table} set submitted_at = null where organization_id = :organizationId and environment = :environment and id = :id returning id`,
  });
  return {
    /** To be called before the request. @returns false when it was sent before, or the job has ended */
    markSubmitted: async (scope: Scope, id: string): Promise<boolean> => (await scope.one(mark, { id })) !== undefined,
    /** To be called when the provider has certainly done nothing: another attempt may follow. */
    unmarkSubmitted: async (scope: Scope, id: string): Promise<void> => void (await scope.one(unmark, { id })),
  };
}
