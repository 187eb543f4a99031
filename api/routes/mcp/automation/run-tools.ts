import { z } from '@hono/zod-openapi';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { workflowIds } from '../../../../src/automation/core/ids.ts';
import { listAutomations } from '../../../../src/automation/definitions/automations.ts';
import { searchRuns } from '../../../../src/automation/run-search/search-runs.ts';
import { cancelRun } from '../../../../src/automation/runs/cancel-run.ts';
import type { RunDetail } from '../../../../src/automation/runs/runs.ts';
import { getRun } from '../../../../src/automation/runs/runs.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import { runStatusWords } from '../../../dialects/automation/dialect.ts';
import { fitRuns } from '../../../dialects/automation/fit-answer.ts';
import { automationDialects } from '../../../dialects/automation.ts';
import { freeForm } from '../../../schemas/free-form.ts';
import { jsonResult, maxResultBytes } from '../results.ts';
import { defineTool } from '../tool.ts';
import { startRun } from './start-run.ts';

/** Tools speak the dialect of the formal contract, whatever that of the key is. */
const dialect = automationDialects.A;

const limit = z.int().min(1).max(100).optional().openapi({ description: 'Default 20.' });
const defaultLimit = 20;
const runId = z.string().openapi({ description: 'The id of a run.' });
const cursor = z.string().max(100).optional().openapi({ description: 'The `nextCursor` of the page before.' });
const cursorPattern = /^\d{1,9}$/;

const status = z
  .string()
  .transform((word) => runStatusWords.get(word.toLowerCase()))
  .refine((word) => word !== undefined, 'Expected a run status.')
  .optional()
  .openapi({ type: 'string', enum: [...runStatusWords.keys()] });

function detailResult(run: RunDetail): CallToolResult {
  const detail = dialect.runDetail(run);
  return jsonResult(fitRuns(detail, [detail], maxResultBytes), { isUntrusted: true });
}

export const runTools = [
  defineTool({
    name: 'list_workflows',
    title: 'List workflows',
    description: 'Lists the workflows of the organization, newest first, whether they are tools of their own or not.',
    scope: 'workflows:read',
    args: z.object({ limit, cursor }),
    annotations: { readOnlyHint: true },
    async perform({ scope }, { limit: size = defaultLimit, cursor: from = '0' }) {
      if (!cursorPattern.test(from)) throw invalid([{ path: 'cursor', message: 'Expected the nextCursor of a page.' }]);
      const offset = Number(from);
      const page = await listAutomations(scope, { limit: size, offset });
      const next = offset + page.items.length;
      const workflows = page.items.map(dialect.workflowSummary);
      return jsonResult({ workflows, ...(next < page.total && { nextCursor: String(next) }) });
    },
  }),
  defineTool({
    name: 'run_workflow',
    title: 'Run a workflow',
    description: 'Runs a workflow and returns what it ends with, or the id of the run where that takes longer.',
    scope: 'runs:execute',
    args: z.object({
      workflowId: z.string().openapi({ description: 'The id of an active workflow.' }),
      input: z.unknown().optional().openapi({ description: 'The input of the workflow: any JSON.' }),
      variables: freeForm.optional().openapi({ description: 'Values by the names of the inputs of the workflow.' }),
    }),
    annotations: { readOnlyHint: false, openWorldHint: true },
    perform: (call, { workflowId, input, variables = {} }) =>
      startRun(call, { workflowId, request: { input: { value: input ?? null }, variables }, outputSchema: null }),
  }),
  defineTool({
    name: 'get_run',
    title: 'Retrieve a run',
    description: 'Returns a run with its status, its output and its steps, and what it waits for.',
    scope: 'runs:read',
    args: z.object({ runId }),
    annotations: { readOnlyHint: true },
    async perform({ scope }, args) {
      return detailResult(await getRun(scope, args.runId));
    },
  }),
  defineTool({
    name: 'list_runs',
    title: 'List runs',
    description: 'Lists the latest runs, newest first.',
    scope: 'runs:read',
    args: z.object({
      workflowId: z.string().optional().openapi({ description: 'Runs of this workflow alone.' }),
      status,
      limit,
    }),
    annotations: { readOnlyHint: true },
    async perform({ scope }, { workflowId, status: word, limit: size = defaultLimit }) {
      const uuid = workflowId === undefined ? undefined : workflowIds.parse(workflowId);
      // A workflow that there is not has no runs.
      if (workflowId !== undefined && uuid === undefined) return jsonResult({ runs: [], hasMore: false });
      const filter = { workflowId: uuid, statuses: word && [word] };
      const page = await searchRuns(scope, filter, { limit: size, offset: 0 });
      const { runs } = dialect.runSearch(page);
      const listed = fitRuns({ runs, hasMore: page.nextCursor !== null }, runs, maxResultBytes);
      return jsonResult(listed, { isUntrusted: true });
    },
  }),
  defineTool({
    name: 'cancel_run',
    title: 'Cancel a run',
    description: 'Cancels a run. Completed steps keep their results; a run that has ended stays as it is.',
    scope: 'runs:execute',
    args: z.object({ runId }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    async perform({ services, scope }, args) {
      return detailResult(await cancelRun(services, scope, args.runId));
    },
  }),
];
