import type { OpenAPIHono } from '@hono/zod-openapi';
import type { WorkflowWarning } from '../../../../src/automation/core/step-references.ts';
import { checkAutomation } from '../../../../src/automation/definitions/check-automation.ts';
import { importAutomation } from '../../../../src/automation/documents/import-automation.ts';
import { exportWorkflow, requireFormat, resolveNames } from '../../../../src/automation/documents/workflow-document.ts';
import { jsonOfYaml, yamlOf } from '../../../../src/automation/documents/yaml.ts';
import { AppError, type FieldError, invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes, problemsOfSchema } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent, plainAnswer } from '../../../schemas/answers.ts';
import { triggersSchema } from '../../../schemas/automation/event.ts';
import { readSchedule, readTriggers } from '../../../schemas/automation/read-starts.ts';
import { readNewWorkflow } from '../../../schemas/automation/read-workflow.ts';
import { newScheduleSchema } from '../../../schemas/automation/schedule.ts';
import { findIgnoredFields } from '../../../schemas/automation/unknown-fields.ts';
import { workflowInPath } from '../../../schemas/automation/version.ts';
import { createdWorkflowSchema, newWorkflowSchema } from '../../../schemas/automation/workflow.ts';
import {
  draftExamples,
  draftSchema,
  exportQuery,
  validationExamples,
  validationSchema,
  workflowDocumentExamples,
  workflowDocumentSchema,
  yamlDocument,
} from '../../../schemas/automation/workflow-document.ts';
import { workflowSummaryExamples } from '../../../schemas/automation/workflow-examples.ts';
import { checkStepScopes } from './step-scopes.ts';

const workflowFields = Object.keys(newWorkflowSchema.shape).filter((name) => !['isActive', 'status'].includes(name));

/** The parts of a document for the workflow itself, its triggers and its schedule. @throws AppError validation_error */
function readDocument(document: Record<string, unknown>, steps: unknown) {
  const given = workflowFields.flatMap((name): [string, unknown][] => {
    const value = name === 'steps' ? steps : document[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  const workflow = newWorkflowSchema.safeParse(Object.fromEntries(given));
  const triggers = triggersSchema.safeParse({ triggers: document.triggers ?? [] });
  const schedule = newScheduleSchema.nullable().safeParse(document.schedule ?? null);
  const problems: FieldError[] = [
    ...(workflow.error ? problemsOfSchema(workflow.error) : []),
    ...(triggers.error ? problemsOfSchema(triggers.error) : []),
    ...(schedule.error ? problemsOfSchema(schedule.error) : []).map(({ path, message }) => ({
      path: path === '' ? 'schedule' : `schedule.${path}`,
      message,
    })),
  ];
  if (!workflow.success || !triggers.success || !schedule.success) throw invalid(problems);
  return { workflow: workflow.data, triggers: triggers.data.triggers, schedule: schedule.data };
}

/** An imported workflow has its first version alone. */
function dropUnknownVersion(schedule: { version?: number | undefined }): WorkflowWarning[] {
  const { version } = schedule;
  if (version === undefined || version === 1) return [];
  delete schedule.version;
  const message = 'An imported workflow has version 1. The schedule executes its current version.';
  return [{ path: 'schedule.version', code: 'unknown_version', message }];
}

/** Workflows as documents: checked without being saved, exported and imported. */
export function workflowDocumentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:write') });

  const validate = operation({
    method: 'post',
    path: '/workflows/validate',
    operationId: 'validateWorkflow',
    'x-client-method': 'workflows.validate',
    summary: 'Validate a workflow',
    description: 'Makes the checks of a save and stores nothing.',
    body: jsonContent(draftSchema, draftExamples),
    answers: {
      200: answer('Returns the errors and the warnings of a save.', validationSchema, {
        examples: validationExamples,
      }),
    },
  });
  const exported = plainAnswer('The document.', workflowDocumentSchema, workflowDocumentExamples);
  const export_ = operation({
    method: 'get',
    path: '/workflows/{id}/export',
    operationId: 'exportWorkflow',
    'x-client-method': 'workflows.export',
    summary: 'Export a workflow',
    description:
      'Returns the workflow with its triggers and its schedule as a document, without the envelope. It has no secrets. Ids of other workflows are written as `{"$name": "…"}`.',
    key: requireKey(services, 'workflows:read'),
    params: workflowInPath,
    query: exportQuery,
    answers: { 200: { ...exported, content: { ...exported.content, ...yamlDocument } } },
  });
  const import_ = operation({
    method: 'post',
    path: '/workflows/import',
    operationId: 'importWorkflow',
    'x-client-method': 'workflows.import',
    summary: 'Import a workflow',
    description:
      'Creates a workflow from a document, as `application/json` or `application/yaml` of at most 1 MiB with at most 100 expansions of aliases. Needs the scopes of its steps, and `runs:execute` where it has triggers or a schedule. A schedule is imported paused. If a name belongs to no workflow, or to several, the answer has a warning and the workflow is not active.',
    body: { ...jsonContent(workflowDocumentSchema, workflowDocumentExamples), ...yamlDocument },
    readYaml: (c, text) => jsonOfYaml(services.boundedWork, c.get('scope').tenantKey, text),
    idempotent: true,
    answers: {
      201: answer('Returns the created workflow.', createdWorkflowSchema, {
        examples: workflowSummaryExamples,
        links: { Export: { operationId: 'exportWorkflow', parameters: { id: '$response.body#/data/id' } } },
        replayable: true,
      }),
    },
  });

  const routes = newRoutes();
  routes.openapi(validate, async (c) => {
    const body = c.get('body');
    const read = newWorkflowSchema.safeParse(body);
    if (!read.success) {
      return c.json(success({ valid: false, errors: problemsOfSchema(read.error), warnings: [] }), 200);
    }
    try {
      const found = await checkAutomation(services, c.get('scope'), read.data);
      return c.json(success({ valid: true, errors: [], warnings: [...findIgnoredFields(body), ...found] }), 200);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'validation_error') throw error;
      const { errors = [] } = (error.facts ?? {}) as { errors?: FieldError[] };
      return c.json(success({ valid: false, errors, warnings: findIgnoredFields(body) }), 200);
    }
  });
  routes.openapi(export_, async (c) => {
    const scope = c.get('scope');
    const document = await exportWorkflow(services, scope, c.req.valid('param').id);
    if (c.req.valid('query').format !== 'yaml') return c.json(document as never, 200);
    const text = await yamlOf(services.boundedWork, scope.tenantKey, document);
    return c.body(text, 200, { 'content-type': 'application/yaml' }) as never;
  });
  routes.openapi(import_, async (c) => {
    const scope = c.get('scope');
    const document = requireFormat(c.get('body'));
    const { steps, warnings: unresolved } = await resolveNames(services, scope, document.steps);
    const { workflow, triggers, schedule } = readDocument(document, steps);
    const ofSchedule = schedule ? dropUnknownVersion(schedule) : [];
    const input = readNewWorkflow(workflow);
    checkStepScopes(c, services, input.steps);
    if (triggers.length > 0 || schedule) checkScopes(c.get('caller'), { scopes: ['runs:execute'] });
    if (unresolved.length > 0) input.state = 'draft';
    const imported = {
      workflow: input,
      triggers: readTriggers({ triggers }),
      schedule: schedule && readSchedule({ ...schedule, paused: true }),
    };
    const made = await importAutomation(services, scope, imported, readIdempotency(c));
    markReplayed(c, made.replayed);
    const isUnresolved = ({ path }: WorkflowWarning) => unresolved.some((one) => one.path === path);
    const warnings = [...unresolved, ...ofSchedule, ...made.warnings.filter((warning) => !isUnresolved(warning))];
    const data = automationDialect(c).workflowSummary(made.outcome);
    return c.json(success({ ...data, ...(warnings.length > 0 && { warnings }) }), 201);
  });
  return routes;
}
