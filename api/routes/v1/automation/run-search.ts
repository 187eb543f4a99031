import type { OpenAPIHono, z } from '@hono/zod-openapi';
import { batchIds, runIds, workflowIds } from '../../../../src/automation/core/ids.ts';
import { type RunFilter, searchRuns } from '../../../../src/automation/run-search/search-runs.ts';
import type { ResourceId } from '../../../../src/platform/core/ids.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { alsoForTokens, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { runSearchSchema } from '../../../schemas/automation/run.ts';
import { runSearchExamples } from '../../../schemas/automation/run-examples.ts';
import { runSearchQuery } from '../../../schemas/automation/run-search.ts';
import { withPageDefaults } from '../../../schemas/pagination.ts';
import { namedRuns } from './named-runs.ts';

type Query = z.output<typeof runSearchQuery>;

/** No resource has it: a filter with an unknown id gives an empty list. */
const unknown = '00000000-0000-0000-0000-000000000000';
const idOf = (ids: ResourceId, text: string | undefined) =>
  text === undefined ? undefined : (ids.parse(text) ?? unknown);

/** A filter from a query or a body. Ids that no resource can have match nothing. */
export const filterOf = (query: Omit<Query, 'limit' | 'offset' | 'after'>): RunFilter => ({
  workflowId: idOf(workflowIds, query.workflowId),
  statuses: query.status,
  tags: query.tag,
  from: query.from,
  to: query.to,
  triggers: query.triggeredBy,
  parentRunId: idOf(runIds, query.parentRunId),
  batchId: idOf(batchIds, query.batchId),
  version: query.version,
  errorCode: query.errorCode,
  correlationId: query.correlationId,
  isTest: query.test && true,
});

/** Runs of all workflows. */
export function runSearchRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Runs', key: alsoForTokens(requireKey(services, 'runs:read')) });

  const search = operation({
    method: 'get',
    path: '/runs',
    operationId: 'listRuns',
    'x-client-method': 'runs.list',
    summary: 'List runs',
    description:
      'Runs of all workflows that match every filter, newest first by the time of creation. `after` reads the next page at a constant cost; `offset` reaches the first 10,000 runs.',
    query: runSearchQuery,
    answers: { 200: answer('A page of runs.', runSearchSchema, { examples: runSearchExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(search, async (c) => {
    const query = c.req.valid('query');
    if (query.after !== undefined && query.offset !== undefined) {
      throw invalid([{ path: 'offset', message: 'Give after or offset.' }]);
    }
    const { limit, offset, after } = withPageDefaults(c, query);
    const page = await searchRuns(c.get('scope'), namedRuns(c, filterOf(query)), { limit, offset, after });
    return c.json(success(automationDialect(c).runSearch(page)), 200);
  });
  return routes;
}
