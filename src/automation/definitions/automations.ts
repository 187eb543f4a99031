import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Page } from '../../platform/database/page.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { recordEvents } from '../../webhooks/index.ts';
import { type AutomationState, automationStates } from '../core/automation-state.ts';
import { findChanges } from '../core/definition-changes.ts';
import { definitionOf } from '../core/definition-fields.ts';
import { workflowIds } from '../core/ids.ts';
import type { InputDefinition } from '../core/inputs.ts';
import type { McpSetting } from '../core/mcp-tools.ts';
import type { Concurrency } from '../core/starts.ts';
import type { WorkflowWarning } from '../core/step-references.ts';
import { stepsIn } from '../core/step-types.ts';
import type { Provider, Step } from '../core/steps.ts';
import { Automation, Definition } from '../entities.ts';
import { workflowNotFound } from '../errors.ts';
import { enforceWorkflowLimit, lockWorkflows } from '../plan-limits.ts';
import { type CheckServices, checkAutomation } from './check-automation.ts';
import { claimToolName } from './mcp-tools.ts';

/** The fields that a run pins. */
export interface DefinitionFields {
  aiProvider: Provider;
  aiModel: string;
  steps: Step[];
  config: Record<string, unknown>;
  inputs: InputDefinition[];
  concurrency: Concurrency | null;
  maxDurationSeconds: number | null;
}

export interface NewAutomation extends DefinitionFields {
  name: string;
  description: string | null;
  state: AutomationState;
  /** Whether assistants see it. It belongs to no version. */
  mcp: McpSetting | null;
}

export type AutomationChange = { [Field in keyof NewAutomation]?: NewAutomation[Field] | undefined };

export interface AutomationSummary {
  id: string;
  name: string;
  description: string | null;
  state: AutomationState;
  totalRuns: number;
  createdAt: Date;
  updatedAt: Date;
}

export type AutomationDetail = AutomationSummary &
  DefinitionFields & { version: number; isPaused: boolean; mcp: McpSetting | null };

const detail = (automation: Automation, definition: Definition): AutomationDetail => ({
  id: automation.id,
  name: automation.name,
  description: automation.description ?? null,
  state: automation.state,
  totalRuns: automation.totalRuns,
  createdAt: automation.createdAt,
  updatedAt: automation.updatedAt,
  aiProvider: definition.aiProvider as Provider,
  aiModel: definition.aiModel,
  steps: definition.steps,
  config: definition.config,
  inputs: definition.inputs,
  concurrency: definition.concurrency ?? null,
  maxDurationSeconds: definition.maxDurationSeconds ?? null,
  isPaused: automation.isPaused,
  mcp: automation.mcp ?? null,
  version: definition.version,
});

interface NewVersion {
  version: number;
  /** Dotted paths that differ from the version before. */
  changes: string[];
}

/** Adds a version of a workflow; the caller makes it the current one. */
export async function addDefinition(
  tx: Transaction,
  automationId: string,
  fields: DefinitionFields,
  { version, changes }: NewVersion,
): Promise<Definition> {
  const { actor, em, tenant } = tx;
  const { aiProvider, aiModel, steps, config, inputs, concurrency, maxDurationSeconds } = fields;
  // Before there is anything to be written, which a query writes.
  if ([...stepsIn(steps)].some(({ type }) => type === 'event')) await recordEvents(tx);
  const definition = em.create(Definition, {
    id: newId(),
    ...tenant,
    automationId,
    aiProvider,
    aiModel,
    steps,
    config,
    inputs,
    concurrency,
    maxDurationSeconds,
    version,
    createdBy: actor,
    changes,
    createdAt: clock.date(),
  });
  em.persist(definition);
  return definition;
}

/**
 * Adds a workflow that was checked.
 * @throws AppError forbidden when the plan includes no further workflow; conflict and forbidden as `claimToolName`
 */
export async function insertAutomation(tx: Transaction, input: NewAutomation): Promise<AutomationDetail> {
  await enforceWorkflowLimit(tx);
  const id = newId();
  const now = clock.date();
  // Before there is anything to be written, which a query writes.
  const toolName = await claimToolName(tx, id, input.mcp);
  const definition = await addDefinition(tx, id, input, { version: 1, changes: [] });
  const automation = tx.em.create(Automation, {
    id,
    ...tx.tenant,
    name: input.name,
    description: input.description,
    state: input.state,
    definitionId: definition.id,
    totalRuns: 0,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
    isPaused: false,
    triggerSecretHash: null,
    mcp: input.mcp,
    toolName,
  });
  tx.em.persist(automation);
  const facts = { state: automation.state, definitionId: definition.id };
  await tx.audit({ action: 'workflow.create', subjectId: id, facts });
  return detail(automation, definition);
}

/**
 * Creates a workflow, once per Idempotency-Key.
 * @throws AppError validation_error, idempotency_key_reused; as `insertAutomation`
 */
export async function createAutomation(
  services: CheckServices,
  scope: Scope,
  input: NewAutomation,
  claim?: IdempotencyClaim,
): Promise<Once<AutomationDetail> & { warnings: WorkflowWarning[] }> {
  const warnings = await checkAutomation(services, scope, input);
  return { ...(await scope.transaction((tx) => insertAutomation(tx, input), { claim })), warnings };
}

const summaryRow = {
  id: 'uuid',
  name: 'text',
  description: 'text?',
  state: typed<AutomationState>('text'),
  totalRuns: 'int',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const;

const findDetail = statement({
  name: 'automation.detail',
  parameters: { id: 'uuid' },
  row: {
    ...summaryRow,
    aiProvider: typed<AutomationDetail['aiProvider']>('text'),
    aiModel: 'text',
    steps: typed<Step[]>('json'),
    config: typed<AutomationDetail['config']>('json'),
    inputs: typed<AutomationDetail['inputs']>('json'),
    concurrency: typed<AutomationDetail['concurrency']>('json?'),
    maxDurationSeconds: 'int?',
    isPaused: 'boolean',
    mcp: typed<AutomationDetail['mcp']>('json?'),
    version: 'int',
  },
  text: `select a.id, a.name, a.description, a.state, a.total_runs as "totalRuns", a.created_at as "createdAt",
          a.updated_at as "updatedAt", d.ai_provider as "aiProvider", d.ai_model as "aiModel", d.steps, d.config, d.inputs,
          d.concurrency, d.max_duration_seconds as "maxDurationSeconds", a.is_paused as "isPaused",
          a.mcp, d.version
     from automation a join definition d on d.id = a.definition_id
    where a.organization_id = :organizationId and a.environment = :environment and a.id = :id and a.deleted_at is null`,
  sharesConnection: true,
});

/** `id` in either form. @throws AppError workflow_not_found */
export async function getAutomation(scope: Scope, id: string): Promise<AutomationDetail> {
  const uuid = workflowIds.parse(id);
  const found = uuid && (await scope.one(findDetail, { id: uuid }));
  if (!found) throw workflowNotFound(id);
  return found;
}

const live = `from automation a where a.organization_id = :organizationId and a.environment = :environment and a.deleted_at is null
  and a.state = any(:states)`;

// Each state is read from the index in the order of the list, only as far as the page goes.
const listPage = statement({
  name: 'automation.list',
  parameters: { states: 'text[]', limit: 'bigint', offset: 'bigint' },
  row: summaryRow,
  text: `select a.id, a.name, a.description, a.state, a.total_runs as "totalRuns", a.created_at as "createdAt",
          a.updated_at as "updatedAt"
     from (select w.id, w.created_at
             from unnest(:states) as wanted (state)
            cross join lateral (
              select id, created_at from automation
               where organization_id = :organizationId and environment = :environment and deleted_at is null and state = wanted.state
               order by created_at desc, id desc limit :limit + :offset) w
            order by w.created_at desc, w.id desc limit :limit offset :offset) page
     join automation a on a.id = page.id and a.organization_id = :organizationId and a.environment = :environment
    order by a.created_at desc, a.id desc`,
});

const countAll = statement({
  name: 'automation.count',
  parameters: { states: 'text[]' },
  row: { count: 'int' },
  text: `select count(*)::int as count ${live}`,
});

/** Newest first. `states` absent means all. */
export async function listAutomations(
  scope: Scope,
  { states = [...automationStates], limit, offset }: { states?: AutomationState[]; limit: number; offset: number },
): Promise<Page<AutomationSummary>> {
  const [items, counted] = await Promise.all([
    scope.rows(listPage, { states, limit, offset }),
    scope.one(countAll, { states }),
  ]);
  return { items, total: counted!.count, limit, offset };
}

/** Locks the row, so that concurrent changes are applied one after the other. */
export async function lockAutomation(em: EntityManager, id: string): Promise<Automation> {
  const uuid = workflowIds.parse(id);
  const found =
    uuid && (await em.findOne(Automation, { id: uuid, deletedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE }));
  if (!found) throw workflowNotFound(id);
  return found;
}

/**
 * Changes only the given fields. Definitions are never changed in place: runs in flight keep the one they started with.
 * @param expectedVersion the version that the caller has seen; another one is a conflict
 * @throws AppError workflow_not_found, validation_error, conflict; as `claimToolName`
 */
export async function updateAutomation(
  services: CheckServices,
  scope: Scope,
  id: string,
  change: AutomationChange,
  expectedVersion?: number,
): Promise<{ workflow: AutomationDetail; warnings: WorkflowWarning[] }> {
  const warnings = await checkAutomation(services, scope, change);
  const workflow = await scope.transaction(async (tx) => {
    if (change.mcp) await lockWorkflows(tx);
    const automation = await lockAutomation(tx.em, id);
    let definition = await tx.em.findOneOrFail(Definition, { id: automation.definitionId });
    const { version } = definition;
    if (expectedVersion !== undefined && expectedVersion !== version) {
      throw new AppError('conflict', `The workflow has version ${version}.`, { version });
    }
    if (change.mcp !== undefined) {
      automation.toolName = await claimToolName(tx, automation.id, change.mcp);
      automation.mcp = change.mcp;
    }
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 0) return detail(automation, definition);
    const fields = { ...detail(automation, definition), ...Object.fromEntries(given) } as NewAutomation;
    const changes = findChanges(definitionOf(definition), definitionOf(fields));
    if (changes.length > 0) {
      definition = await addDefinition(tx, automation.id, fields, { version: version + 1, changes });
    }
    automation.name = fields.name;
    automation.description = fields.description;
    automation.state = fields.state;
    automation.definitionId = definition.id;
    automation.updatedAt = clock.date();
    // A higher limit holds for the runs that wait, too.
    if (given.some(([name]) => name === 'concurrency')) await tx.enqueue('workflow.release', automation.id);
    const facts = { given: given.map(([name]) => name), state: automation.state, definitionId: definition.id };
    await tx.audit({ action: 'workflow.update', subjectId: automation.id, facts });
    return detail(automation, definition);
  });
  return { workflow, warnings };
}

/**
 * Pauses or resumes a workflow. While it is paused its runs are accepted and queued. Runs that have begun continue.
 * @throws AppError workflow_not_found
 */
export async function setPaused(scope: Scope, id: string, isPaused: boolean): Promise<AutomationDetail> {
  return scope.transaction(async (tx) => {
    const automation = await lockAutomation(tx.em, id);
    const definition = await tx.em.findOneOrFail(Definition, { id: automation.definitionId });
    if (automation.isPaused === isPaused) return detail(automation, definition);
    automation.isPaused = isPaused;
    if (!isPaused) await tx.enqueue('workflow.release', automation.id);
    await tx.audit({ action: isPaused ? 'workflow.pause' : 'workflow.resume', subjectId: automation.id });
    return detail(automation, definition);
  });
}

/**
 * Removes a workflow and its history from every read at once. An outbox entry starts the purge, which cancels runs in
 * flight and deletes the rows.
 * @returns the canonical id. @throws AppError workflow_not_found
 */
export async function deleteAutomation(scope: Scope, id: string): Promise<string> {
  return scope.transaction(async (tx) => {
    const automation = await lockAutomation(tx.em, id);
    automation.deletedAt = clock.date();
    await tx.enqueue('automation.purge', automation.id);
    await tx.audit({ action: 'workflow.delete', subjectId: automation.id });
    return automation.id;
  });
}
