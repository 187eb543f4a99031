import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  type AutomationState,
  automationStates,
  createAutomation,
  deleteAutomation,
  getAutomation,
  listAutomations,
  updateAutomation,
} from '../../../src/automation/automations.ts';
import { launchPurge } from '../../../src/automation/purge.ts';
import { prefixed } from '../../../src/platform/ids.ts';
import type { Services } from '../../../src/services.ts';
import { success } from '../../envelopes.ts';
import { idempotencyHeader, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { readNewWorkflow, readWorkflowChange } from '../../read-workflow.ts';
import { answer, failures } from '../../schemas/answers.ts';
import { pageQuery } from '../../schemas/pagination.ts';
import {
  changedWorkflowSchema,
  newWorkflowSchema,
  workflowChangeSchema,
  workflowDetailSchema,
  workflowListSchema,
  workflowSummarySchema,
} from '../../schemas/workflow.ts';
import { type ApiEnv, surface } from '../../surface.ts';

const tags = ['Workflows'];
const security = [{ bearer: [] }, { apiKey: [] }];
const params = z.object({ id: z.string().openapi({ param: { name: 'id', in: 'path' }, description: 'uuid or wf_…' }) });

const listQuery = z.object({
  ...pageQuery,
  active: z.enum(['true', 'false']).optional(),
  status: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(automationStates))
    .optional()
    .openapi({ type: 'string', description: 'active, draft or archived; either case.' }),
});

/** Both dialects' filters, together: what passes each of them. */
function statesOf({ active, status }: z.output<typeof listQuery>): AutomationState[] | undefined {
  if (active === undefined && status === undefined) return undefined;
  return automationStates.filter(
    (state) =>
      (status === undefined || state === status) &&
      (active === undefined || (state === 'active') === (active === 'true')),
  );
}

export function workflowRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { temporal, env, log } = services;
  const read = requireKey(services, 'workflows:read');
  const write = requireKey(services, 'workflows:write');
  const webhookUrl = (id: string) => new URL(`/api/v1/webhooks/${prefixed('workflow', id)}`, env.PUBLIC_URL).href;

  const list = createRoute({
    method: 'get',
    path: '/workflows',
    tags,
    security,
    summary: 'List workflows, newest first',
    middleware: [read] as const,
    request: { query: listQuery },
    responses: { 200: answer('The page.', workflowListSchema), ...failures() },
  });
  const create = createRoute({
    method: 'post',
    path: '/workflows',
    tags,
    security,
    summary: 'Create a workflow',
    middleware: [write, jsonBody()] as const,
    request: {
      headers: idempotencyHeader,
      body: { required: true, content: { 'application/json': { schema: newWorkflowSchema } } },
    },
    responses: { 201: answer('The workflow.', workflowSummarySchema), ...failures(413, 415, 422) },
  });
  const get = createRoute({
    method: 'get',
    path: '/workflows/{id}',
    tags,
    security,
    summary: 'Read a workflow',
    middleware: [read] as const,
    request: { params },
    responses: { 200: answer('The workflow.', workflowDetailSchema), ...failures(404) },
  });
  const patch = createRoute({
    method: 'patch',
    path: '/workflows/{id}',
    tags,
    security,
    summary: 'Change a workflow; only what is given changes',
    middleware: [write, jsonBody()] as const,
    request: { params, body: { required: true, content: { 'application/json': { schema: workflowChangeSchema } } } },
    responses: { 200: answer('What changed.', changedWorkflowSchema), ...failures(404, 413, 415) },
  });
  const remove = createRoute({
    method: 'delete',
    path: '/workflows/{id}',
    tags,
    security,
    summary: 'Delete a workflow with all its run history',
    middleware: [write] as const,
    request: { params },
    responses: { 200: answer('It is gone.', z.object({ deleted: z.literal(true) })), ...failures(404) },
  });

  const routes = surface();
  routes.openapi(list, async (c) => {
    const { limit = c.get('dialect').defaultLimit, offset = 0, ...filters } = c.req.valid('query');
    const states = statesOf(filters);
    const page = await listAutomations(c.get('scope'), { ...(states && { states }), limit, offset });
    return c.json(success(c.get('dialect').workflowList(page)), 200);
  });
  routes.openapi(create, async (c) => {
    const input = readNewWorkflow(c.req.valid('json'));
    const { outcome, replayed } = await createAutomation(c.get('scope'), input, readIdempotency(c));
    if (replayed) c.header('Idempotent-Replayed', 'true');
    return c.json(success(c.get('dialect').workflowSummary(outcome)), 201);
  });
  routes.openapi(get, async (c) => {
    const workflow = await getAutomation(c.get('scope'), c.req.valid('param').id);
    return c.json(success(c.get('dialect').workflowDetail(workflow, webhookUrl(workflow.id))), 200);
  });
  routes.openapi(patch, async (c) => {
    const change = readWorkflowChange(c.req.valid('json'));
    const workflow = await updateAutomation(c.get('scope'), c.req.valid('param').id, change);
    return c.json(success(c.get('dialect').workflowChange(workflow)), 200);
  });
  routes.openapi(remove, async (c) => {
    const scope = c.get('scope');
    const id = await deleteAutomation(scope, c.req.valid('param').id);
    // The outbox owes the purge; this only makes it start sooner.
    launchPurge(temporal, scope, id).catch((error) => log.warn({ err: error }, 'a purge will start later'));
    return c.json(success({ deleted: true as const }), 200);
  });
  return routes;
}
