import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { invalid } from '../../platform/errors.ts';
import { definitionOf } from '../core/definition-fields.ts';
import { workflowIds } from '../core/ids.ts';
import type { McpSetting } from '../core/mcp-tools.ts';
import type { WorkflowWarning } from '../core/step-references.ts';
import { getAutomation } from '../definitions/automations.ts';
import { findWorkflowNames } from '../definitions/workflow-names.ts';
import { getTriggers, type NewTrigger } from '../events/triggers.ts';
import { findSchedule, type Schedule } from '../schedules/schedule-sync.ts';

type Members = Record<string, unknown>;

/** The format of exported workflows. */
export const documentFormat = 1;

/** A workflow as it leaves one organization and comes to another. It has no secrets and no ids of the organization. */
export interface WorkflowDocument extends Members {
  atelier: typeof documentFormat;
  name: string;
  description: string | null;
  mcp?: McpSetting;
  triggers: NewTrigger[];
  schedule: Members | null;
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Changes the steps of type `workflow`, also those inside others. */
function withWorkflowIds(step: unknown, change: (id: unknown, path: string) => unknown, path: string): unknown {
  if (!isMembers(step)) return step;
  const { type, workflowId, steps, branches } = step;
  const inside = (list: unknown[], name: string) =>
    list.map((one, index) => withWorkflowIds(one, change, `${path}.${name}.${index}`));
  return {
    ...step,
    ...(type === 'workflow' && workflowId !== undefined && { workflowId: change(workflowId, `${path}.workflowId`) }),
    ...(Array.isArray(steps) && { steps: inside(steps, 'steps') }),
    ...(Array.isArray(branches) && { branches: inside(branches, 'branches') }),
  };
}

const changeIds = (steps: unknown, change: (id: unknown, path: string) => unknown): unknown =>
  Array.isArray(steps) ? steps.map((step, index) => withWorkflowIds(step, change, `steps.${index}`)) : steps;

const findNamed = statement({
  name: 'document.workflows_named',
  parameters: { names: 'text[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from automation
    where organization_id = :organizationId and environment = :environment and name = any(:names) and deleted_at is null
    order by created_at desc limit 1000`,
});

/** A schedule as it would be put. Whether it is paused belongs to where it runs. */
function scheduleOf({ cron, timezone, input, variables, tags, metadata, expiresInMs, priority, version }: Schedule) {
  const options = { tags, metadata, expiresIn: expiresInMs && expiresInMs / 1_000, priority, version };
  const given = Object.entries(options).filter(([, value]) => value !== null);
  return { cron, timezone, input, variables, ...Object.fromEntries(given) };
}

/** A workflow as a document. Ids of other workflows become `{$name}`. @throws AppError workflow_not_found */
export async function exportWorkflow(scope: Scope, id: string): Promise<WorkflowDocument> {
  const workflow = await getAutomation(scope, id);
  const [triggers, schedule] = await Promise.all([
    getTriggers(scope, id),
    scope.one(findSchedule, { automationId: workflow.id }),
  ]);
  const ids: string[] = [];
  changeIds(workflow.steps, (one) => {
    const uuid = typeof one === 'string' ? workflowIds.parse(one) : undefined;
    if (uuid) ids.push(uuid);
    return one;
  });
  const names = await findWorkflowNames(scope, ids);
  const steps = changeIds(workflow.steps, (one) => {
    const name = names.get(workflowIds.parse(String(one)) ?? '');
    return name === undefined ? one : { $name: name };
  });
  const { name, description, mcp } = workflow;
  return {
    atelier: documentFormat,
    name,
    description,
    ...definitionOf(workflow),
    steps,
    ...(mcp && { mcp }),
    triggers: triggers.map(({ event, filter, inputs }) => ({
      event,
      ...(filter !== null && { filter }),
      ...(inputs && { inputs }),
    })),
    schedule: schedule ? scheduleOf(schedule) : null,
  };
}

/** Finds the workflows that a document names. Where there is not exactly one of a name, a warning says so. */
export async function resolveNames(
  scope: Scope,
  steps: unknown,
): Promise<{ steps: unknown; warnings: WorkflowWarning[] }> {
  const names: string[] = [];
  const nameOf = (value: unknown) => (isMembers(value) && typeof value.$name === 'string' ? value.$name : undefined);
  changeIds(steps, (value) => {
    const name = nameOf(value);
    if (name !== undefined) names.push(name);
    return value;
  });
  if (names.length === 0) return { steps, warnings: [] };
  const found = await scope.rows(findNamed, { names });
  const warnings: WorkflowWarning[] = [];
  const resolved = changeIds(steps, (value, path) => {
    const name = nameOf(value);
    if (name === undefined) return value;
    const [one, another] = found.filter((workflow) => workflow.name === name);
    if (one && !another) return one.id;
    const message = another
      ? 'Several workflows have this name. Set the id, and activate the workflow.'
      : 'No workflow has this name. Set the id, and activate the workflow.';
    warnings.push({ path, code: 'unresolved_name', message });
    return one?.id ?? '00000000-0000-0000-0000-000000000000';
  });
  return { steps: resolved, warnings };
}

/** @throws AppError validation_error for a document of another format */
export function requireFormat(document: unknown): Members {
  if (!isMembers(document)) throw invalid([{ path: '', message: 'Expected an object.' }]);
  if (document.atelier !== documentFormat) throw invalid([{ path: 'atelier', message: `Expected ${documentFormat}.` }]);
  return document;
}
