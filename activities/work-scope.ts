import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database/database.ts';
import { Scope, WorkScope } from '../src/platform/database/scope.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';

/**
 * The scope of the tenant that a workflow works for. A local activity does not wait for the database: it has ten seconds, and
 * its workflow falls back to an activity that does.
 */
export function scopeOf(database: Database, { organizationId, environment, correlationId }: WorkContext): Scope {
  const KindOfScope = Context.current().info.isLocal ? Scope : WorkScope;
  return new KindOfScope(database, { organizationId, environment }, correlationId);
}
