import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { type AutomationState, automationStates } from '../../../../src/automation/core/automation-state.ts';
import { workflowIds } from '../../../../src/automation/core/ids.ts';
import type { WorkflowWarning } from '../../../../src/automation/core/step-references.ts';
import {
  createAutomation,
  deleteAutomation,
  getAutomation,
  listAutomations,
  setPaused,
  updateAutomation,
} from '../../../../src/automation/definitions/automations.ts';
import { type ImportedDocument, importAutomation } from '../../../../src/automation/documents/import-automation.ts';
import { workflowNotFound } from '../../../../src/automation/errors.ts';
import { findTemplate } from '../../../../src/automation/templates/gallery.ts';
import { withoutSlash } from '../../../../src/platform/core/base-url.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes, requireKey, requireKeyAndId } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { triggersSchema } from '../../../schemas/automation/event.ts';
import { readSchedule, readTriggers } from '../../../schemas/automation/read-starts.ts';
import { readNewWorkflow, readWorkflowChange } from '../../../schemas/automation/read-workflow.ts';
import { newScheduleSchema } from '../../../schemas/automation/schedule.ts';
import { findIgnoredFields } from '../../../schemas/automation/unknown-fields.ts';
import {
  changedWorkflowSchema,
  createdWorkflowSchema,
  type NewWorkflowBody,
  newWorkflowSchema,
  workflowChangeSchema,
  workflowDetailSchema,
  workflowListSchema,
} from '../../../schemas/automation/workflow.ts';
import {
  changedWorkflowExamples,
  exampleWorkflowIds,
  newWorkflowExamples,
  workflowChangeExamples,
  workflowDetailExamples,
  workflowListExamples,
  workflowSummaryExamples,
} from '../../../schemas/automation/workflow-examples.ts';
import {
  createWorkflowComponents,
  createWorkflowSchema,
  type FromTemplateBody,
  isFromTemplate,
} from '../../../schemas/automation/workflow-template.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';
import { checkStepScopes } from './step-scopes.ts';

/** A workflow of a template, with its triggers and its schedule, which is paused. */
function readTemplate({ template: id, name }: FromTemplateBody): ImportedDocument {
  const template = findTemplate(id)!;
  const { description, steps, inputs, triggers = [], schedule } = template;
  const workflow = newWorkflowSchema.parse({ name: name ?? template.name, description, steps, inputs });
  return {
    workflow: readNewWorkflow(workflow),
    triggers: readTriggers(triggersSchema.parse({ triggers })),
    schedule: schedule ? readSchedule(newScheduleSchema.parse({ ...schedule, paused: true })) : null,
  };
}

const params = idInPath(exampleWorkflowIds);

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getWorkflow', parameters: withThisId },
  Update: { operationId: 'updateWorkflow', parameters: withThisId },
  Execute: { operationId: 'executeWorkflow', parameters: withThisId },
  Test: { operationId: 'testWorkflow', parameters: withThisId },
  Runs: { operationId: 'listWorkflowRuns', parameters: withThisId },
  Schedule: { operationId: 'putSchedule', parameters: withThisId },
  ReadSchedule: { operationId: 'getSchedule', parameters: withThisId },
  Triggers: { operationId: 'putTriggers', parameters: withThisId },
  ReadTriggers: { operationId: 'getTriggers', parameters: withThisId },
  Unschedule: { operationId: 'deleteSchedule', parameters: withThisId },
  Secret: { operationId: 'rotateTriggerSecret', parameters: withThisId },
  Trigger: { operationId: 'triggerWorkflow', parameters: withThisId },
  Batch: { operationId: 'createBatch', parameters: withThisId },
  Pause: { operationId: 'pauseWorkflow', parameters: withThisId },
  Resume: { operationId: 'resumeWorkflow', parameters: withThisId },
  Export: { operationId: 'exportWorkflow', parameters: withThisId },
  Versions: { operationId: 'listWorkflowVersions', parameters: withThisId },
  Delete: { operationId: 'deleteWorkflow', parameters: withThisId },
};

const listQuery = z.object({
  ...pageQuery,
  active: z.enum(['true', 'false']).optional(),
  status: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(automationStates))
    .optional()
    .openapi({ type: 'string', enum: [...automationStates], description: 'Read in upper or lower case.' }),
});

/** The states that match the filters of both dialects. */
function statesOf({ active, status }: z.output<typeof listQuery>): AutomationState[] | undefined {
  if (active === undefined && status === undefined) return undefined;
  return automationStates.filter(
    (state) =>
      (status === undefined || state === status) &&
      (active === undefined || (state === 'active') === (active === 'true')),
  );
}

/** The warnings about a saved workflow: those about the body, and the given ones. */
function warningsOf(c: ApiContext, given: WorkflowWarning[], ignored = findIgnoredFields(c.get('body'))) {
  const warnings = [...ignored, ...given];
  return warnings.length > 0 ? { warnings } : {};
}

export function workflowRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { env } = services;
  const read = requireKey(services, 'workflows:read');
  const write = requireKey(services, 'workflows:write');
  const readOne = requireKeyAndId(services, { ...workflowIds, notFound: workflowNotFound }, 'workflows:read');
  const publicUrl = withoutSlash(env.PUBLIC_URL);
  const webhookUrl = (id: string) => `${publicUrl}/api/v1/webhooks/${workflowIds.format(id)}`;

  const operation = operationsOf({ tag: 'Workflows', key: write });

  const list = operation({
    method: 'get',
    path: '/workflows',
    operationId: 'listWorkflows',
    'x-client-method': 'workflows.list',
    summary: 'List workflows',
    description: 'Newest first. With both filters, workflows that match both are returned.',
    key: read,
    query: listQuery,
    answers: { 200: answer('A page of workflows.', workflowListSchema, { examples: workflowListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/workflows',
    operationId: 'createWorkflow',
    'x-client-method': 'workflows.create',
    summary: 'Create a workflow',
    description:
      'Only `name` is required, or `template`: a workflow of the gallery, with its triggers and its paused schedule. That needs the scopes of its steps, and `runs:execute` where it has triggers or a schedule. A workflow without steps returns its input. Workflows are active by default. What was saved but is probably not meant, such as a field that does not exist or a model that no list has, is listed in `warnings`.',
    body: jsonContent(createWorkflowSchema, newWorkflowExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the created workflow.', createdWorkflowSchema, {
        examples: workflowSummaryExamples,
        links,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const get = operation({
    method: 'get',
    path: '/workflows/{id}',
    operationId: 'getWorkflow',
    'x-client-method': 'workflows.get',
    summary: 'Retrieve a workflow',
    description:
      'Returns the workflow with its definition. In dialect B also its inputs and the URL of its webhook trigger.',
    key: readOne,
    params,
    answers: {
      200: answer('Returns the workflow.', workflowDetailSchema, { examples: workflowDetailExamples, links }),
    },
  });
  const patch = operation({
    method: 'patch',
    path: '/workflows/{id}',
    operationId: 'updateWorkflow',
    'x-client-method': 'workflows.update',
    summary: 'Update a workflow',
    description: 'Only the given fields change. Runs that have started keep the definition they started with.',
    params,
    body: jsonContent(workflowChangeSchema, workflowChangeExamples),
    answers: {
      200: answer('Returns a summary of the updated workflow.', changedWorkflowSchema, {
        examples: changedWorkflowExamples,
        links,
      }),
    },
    failures: [409],
  });
  const remove = operation({
    method: 'delete',
    path: '/workflows/{id}',
    operationId: 'deleteWorkflow',
    'x-client-method': 'workflows.delete',
    summary: 'Delete a workflow',
    description: 'Deletes the workflow and all its runs. Runs in progress are cancelled.',
    params,
    answers: { 200: deletedAnswer('The workflow was deleted.') },
  });

  const pauses = (action: 'pause' | 'resume', summary: string, description: string) =>
    operation({
      method: 'post',
      path: `/workflows/{id}/${action}`,
      operationId: `${action}Workflow`,
      'x-client-method': `workflows.${action}`,
      summary,
      description,
      params,
      answers: {
        200: answer('Returns the workflow.', workflowDetailSchema, { examples: workflowDetailExamples, links }),
      },
    });
  const pause = pauses(
    'pause',
    'Pause a workflow',
    'New runs are accepted and wait in the queue until the workflow is resumed. Runs that have begun continue.',
  );
  const resume = pauses('resume', 'Resume a workflow', 'Runs that were queued begin.');

  const routes = newRoutes();
  for (const [name, schema] of Object.entries(createWorkflowComponents)) routes.openAPIRegistry.register(name, schema);
  for (const [route, isPaused] of [
    [pause, true],
    [resume, false],
  ] as const) {
    routes.openapi(route, async (c) => {
      const workflow = await setPaused(c.get('scope'), c.req.valid('param').id, isPaused);
      return c.json(success(automationDialect(c).workflowDetail(workflow, webhookUrl(workflow.id))), 200);
    });
  }
  routes.openapi(list, async (c) => {
    const { limit, offset, ...filters } = withPageDefaults(c, c.req.valid('query'));
    const states = statesOf(filters);
    const page = await listAutomations(c.get('scope'), { ...(states && { states }), limit, offset });
    return c.json(success(automationDialect(c).workflowList(page)), 200);
  });
  routes.openapi(create, async (c) => {
    const body = c.req.valid('json');
    const fromTemplate = isFromTemplate(body) ? readTemplate(body) : undefined;
    const input = fromTemplate?.workflow ?? readNewWorkflow(body as NewWorkflowBody);
    checkStepScopes(c, services, input.steps);
    if (fromTemplate && (fromTemplate.triggers.length > 0 || fromTemplate.schedule)) {
      checkScopes(c.get('caller'), { scopes: ['runs:execute'] });
    }
    const claim = readIdempotency(c);
    const made = fromTemplate
      ? await importAutomation(services, c.get('scope'), fromTemplate, claim)
      : await createAutomation(services, c.get('scope'), input, claim);
    markReplayed(c, made.replayed);
    const data = automationDialect(c).workflowSummary(made.outcome);
    const ignored = fromTemplate ? [] : undefined;
    return c.json(success({ ...data, ...warningsOf(c, made.warnings, ignored) }), 201);
  });
  routes.openapi(get, async (c) => {
    const workflow = await getAutomation(c.get('scope'), c.req.valid('param').id);
    return c.json(success(automationDialect(c).workflowDetail(workflow, webhookUrl(workflow.id))), 200);
  });
  routes.openapi(patch, async (c) => {
    const body = c.req.valid('json');
    const change = readWorkflowChange(body);
    checkStepScopes(c, services, change.steps);
    const { id } = c.req.valid('param');
    const { workflow, warnings } = await updateAutomation(services, c.get('scope'), id, change, body.expectedVersion);
    const data = automationDialect(c).workflowChange(workflow);
    const ignored = findIgnoredFields(c.get('body'), workflowChangeSchema.shape);
    return c.json(success({ ...data, ...warningsOf(c, warnings, ignored) }), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteAutomation(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  return routes;
}
