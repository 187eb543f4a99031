import { isJsonObject } from '../../platform/core/json-shapes.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { invalid } from '../../platform/errors.ts';
import type { NamedThing, StepKinds } from '../../platform/parts/step-kind.ts';
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
const documentFormat = 1;

/** A workflow as it leaves one organization and comes to another. It has no secrets and no ids of the organization. */
export interface WorkflowDocument extends Members {
  atelier: typeof documentFormat;
  name: string;
  description: string | null;
  mcp?: McpSetting;
  triggers: NewTrigger[];
  schedule: Members | null;
}

interface DocumentServices {
  stepKinds: Pick<StepKinds, 'namedBy'>;
}

/** Changes an id, or its placeholder. */
type Change = (id: unknown, thing: NamedThing, path: string) => unknown;

/** Changes the ids of the organization's own things in steps, also in those inside others. */
class OwnIds {
  readonly #stepKinds: DocumentServices['stepKinds'];
  readonly #change: Change;

  constructor({ stepKinds }: DocumentServices, change: Change) {
    this.#stepKinds = stepKinds;
    this.#change = change;
  }

  inList(list: unknown, path: string): unknown {
    return Array.isArray(list) ? list.map((one, index) => this.#inStep(one, `${path}.${index}`)) : list;
  }

  #inStep(step: unknown, path: string): unknown {
    if (!isJsonObject(step)) return step;
    const { type, payload, steps, branches } = step;
    const thing = this.#stepKinds.namedBy(type);
    const own = type === 'workflow' ? this.#inMembers(step, namedWorkflow, path) : step;
    return {
      ...own,
      ...(thing && isJsonObject(payload) && { payload: this.#inMembers(payload, thing, `${path}.payload`) }),
      ...(Array.isArray(steps) && { steps: this.inList(steps, `${path}.steps`) }),
      ...(Array.isArray(branches) && { branches: this.inList(branches, `${path}.branches`) }),
    };
  }

  #inMembers(members: Members, thing: NamedThing, path: string): Members {
    const { member } = thing;
    if (members[member] === undefined) return members;
    return { ...members, [member]: this.#change(members[member], thing, `${path}.${member}`) };
  }
}

const findNamed = statement({
  name: 'document.workflows_named',
  parameters: { names: 'text[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from automation
    where organization_id = :organizationId and environment = :environment and name = any(:names) and deleted_at is null
    order by created_at desc limit 1000`,
});

const namedWorkflow: NamedThing = {
  member: 'workflowId',
  noun: 'workflow',
  async names(scope, ids) {
    const parsed = new Map(ids.map((id) => [id, workflowIds.parse(id) ?? '']));
    const names = await findWorkflowNames(
      scope,
      [...parsed.values()].filter((uuid) => uuid !== ''),
    );
    return new Map([...parsed].flatMap(([id, uuid]) => (names.has(uuid) ? [[id, names.get(uuid)!] as const] : [])));
  },
  find: (scope, names) => scope.rows(findNamed, { names }),
};

/** The names that a document uses, by kind. */
class Named {
  readonly #texts = new Map<NamedThing, string[]>();

  add(thing: NamedThing, text: string): void {
    const texts = this.#texts.get(thing) ?? [];
    texts.push(text);
    this.#texts.set(thing, texts);
  }

  /** @param find looks for all of one kind */
  async findAll<Found>(find: (thing: NamedThing, texts: string[]) => Promise<Found>): Promise<Map<NamedThing, Found>> {
    const found = new Map<NamedThing, Found>();
    for (const [thing, texts] of this.#texts) found.set(thing, await find(thing, [...new Set(texts)]));
    return found;
  }
}

/** A schedule as it would be put. Whether it is paused belongs to where it runs. */
function scheduleOf({ cron, timezone, input, variables, tags, metadata, expiresInMs, priority, version }: Schedule) {
  const options = { tags, metadata, expiresIn: expiresInMs && expiresInMs / 1_000, priority, version };
  const given = Object.entries(options).filter(([, value]) => value !== null);
  return { cron, timezone, input, variables, ...Object.fromEntries(given) };
}

/** A workflow as a document. Ids of the organization's own things become `{$name}`. @throws AppError workflow_not_found */
export async function exportWorkflow(services: DocumentServices, scope: Scope, id: string): Promise<WorkflowDocument> {
  const workflow = await getAutomation(scope, id);
  const [triggers, schedule] = await Promise.all([
    getTriggers(scope, id),
    scope.one(findSchedule, { automationId: workflow.id }),
  ]);
  const named = new Named();
  new OwnIds(services, (one, thing) => {
    if (typeof one === 'string') named.add(thing, one);
    return one;
  }).inList(workflow.steps, 'steps');
  const names = await named.findAll((thing, ids) => thing.names(scope, ids));
  const steps = new OwnIds(services, (one, thing) => {
    const name = names.get(thing)?.get(String(one));
    return name === undefined ? one : { $name: name };
  }).inList(workflow.steps, 'steps');
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

/** Finds the resources that a document names. If a name does not match exactly one resource, a warning says so. */
export async function resolveNames(
  services: DocumentServices,
  scope: Scope,
  steps: unknown,
): Promise<{ steps: unknown; warnings: WorkflowWarning[] }> {
  const nameOf = (value: unknown) => (isJsonObject(value) && typeof value.$name === 'string' ? value.$name : undefined);
  const named = new Named();
  new OwnIds(services, (value, thing) => {
    const name = nameOf(value);
    if (name !== undefined) named.add(thing, name);
    return value;
  }).inList(steps, 'steps');
  const found = await named.findAll((thing, names) => thing.find(scope, names));
  if (found.size === 0) return { steps, warnings: [] };
  const warnings: WorkflowWarning[] = [];
  const resolved = new OwnIds(services, (value, thing, path) => {
    const name = nameOf(value);
    if (name === undefined) return value;
    const [one, another] = (found.get(thing) ?? []).filter((candidate) => candidate.name === name);
    if (one && !another) return one.id;
    const who = another ? `Several ${thing.noun}s have` : `No ${thing.noun} has`;
    warnings.push({
      path,
      code: 'unresolved_name',
      message: `${who} this name. Set the id, and activate the workflow.`,
    });
    return one?.id ?? '00000000-0000-0000-0000-000000000000';
  }).inList(steps, 'steps');
  return { steps: resolved, warnings };
}

/** @throws AppError validation_error for a document of another format */
export function requireFormat(document: unknown): Members {
  if (!isJsonObject(document)) throw invalid([{ path: '', message: 'Expected an object.' }]);
  if (document.atelier !== documentFormat) throw invalid([{ path: 'atelier', message: `Expected ${documentFormat}.` }]);
  return document;
}
