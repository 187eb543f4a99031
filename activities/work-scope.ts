import type { Database } from '../src/platform/database/database.ts';
import { Scope } from '../src/platform/database/scope.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';

/** The scope of the tenant that a workflow works for. */
export const scopeOf = (database: Database, { organizationId, environment, correlationId }: WorkContext) =>
  new Scope(database, { organizationId, environment }, correlationId);
