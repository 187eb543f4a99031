import { workflowIds } from '../../../../src/automation/core/ids.ts';
import { runNotFound, workflowNotFound } from '../../../../src/automation/errors.ts';
import { isNamed, restrict } from '../../../../src/automation/run-search/restrict.ts';
import type { RunFilter } from '../../../../src/automation/run-search/search-runs.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import { mayStart } from '../../../../src/tenancy/core/token-access.ts';
import type { ApiContext } from '../../../context.ts';

// A token of a browser can name the runs that it is for. For others it is as if they did not exist.

/** The id of the run in the path, as the caller wrote it. @throws AppError run_not_found */
export async function namedRunInPath(c: ApiContext): Promise<string> {
  const id = c.req.param('id')!;
  const { token } = c.get('caller');
  if (token?.runs && !(await isNamed(c.get('scope'), id, token.runs))) throw runNotFound(id);
  return id;
}

/** The runs of a filter that the caller may see. */
export function namedRuns(c: ApiContext, filter: RunFilter): RunFilter {
  const { token } = c.get('caller');
  return token?.runs ? restrict(filter, token.runs) : filter;
}

/** @param id of a workflow, as the caller wrote it. @throws AppError workflow_not_found */
export function checkStart({ token }: Caller, id: string, tags: readonly string[] = []): void {
  if (!token?.runs) return;
  const workflowId = workflowIds.parse(id);
  if (workflowId === undefined || !mayStart(token.runs, workflowId, tags)) throw workflowNotFound(id);
}
