import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { RunRestriction } from '../../tenancy/core/token-access.ts';
import { runIds } from '../core/ids.ts';
import type { RunFilter } from './search-runs.ts';

/** No resource has it. */
const unknown = '00000000-0000-0000-0000-000000000000';

const findNamed = statement({
  name: 'run.is_named',
  parameters: { runId: 'uuid', runIds: 'uuid[]?', workflowIds: 'uuid[]?', batchId: 'uuid?', tags: 'text[]?' },
  row: { id: 'uuid' },
  text: `select id from run
    where organization_id = :organizationId and environment = :environment and id = :runId
      and (:runIds is null or id = any(:runIds)) and (:workflowIds is null or automation_id = any(:workflowIds))
      and (:batchId is null or batch_id = :batchId) and (:tags is null or tags @> to_jsonb(:tags))`,
});

/** Whether a restriction names a run. `id` in either form. */
export async function isNamed(scope: Scope, id: string, restriction: RunRestriction): Promise<boolean> {
  const runId = runIds.parse(id);
  return runId !== undefined && (await scope.one(findNamed, { runId, ...restriction })) !== undefined;
}

/** The runs of a filter that a restriction names. */
export function restrict(filter: RunFilter, { runIds: ids, workflowIds, batchId, tags }: RunRestriction): RunFilter {
  const restricted = { ...filter };
  if (ids) restricted.runIds = ids;
  if (batchId !== null) restricted.batchId = (filter.batchId ?? batchId) === batchId ? batchId : unknown;
  if (tags) restricted.tags = [...new Set([...(filter.tags ?? []), ...tags])];
  if (workflowIds && filter.workflowId) {
    restricted.workflowId = workflowIds.includes(filter.workflowId) ? filter.workflowId : unknown;
  } else if (workflowIds) restricted.workflowIds = workflowIds;
  if (workflowIds?.length === 1 && !filter.workflowId) {
    restricted.workflowId = workflowIds[0];
    restricted.workflowIds = undefined;
  }
  return restricted;
}
