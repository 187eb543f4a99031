import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { AutomationState } from './core/automation-state.ts';
import type { BatchStatus } from './core/batch-status.ts';
import type { InputDefinition } from './core/inputs.ts';
import type { McpSetting } from './core/mcp-tools.ts';
import type { Mocks } from './core/mocks.ts';
import {
  type AskedModel,
  openRun,
  type RunError,
  type RunStatus,
  type StepCounts,
  type StepStatus,
} from './core/run-status.ts';
import type { Concurrency, QueueReason, TriggerFacts, TriggerType } from './core/starts.ts';
import type { Step } from './core/steps.ts';
import type { Warning } from './core/template.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** The product's workflow. In this code "workflow" always means a Temporal workflow. */
export const Automation = defineEntity({
  name: 'Automation',
  tableName: 'automation',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    name: p.string().length(100),
    description: p.text().nullable(),
    state: p.string().length(10).$type<AutomationState>(),
    /** The definition that the next run pins. */
    definitionId: p.uuid(),
    /** The number of the latest run. */
    totalRuns: p.integer(),
    /** How many of them were removed. */
    removedRuns: p.integer().default(0),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** Set when the workflow is deleted. No read returns it from then on, and its rows are purged in the background. */
    deletedAt: p.datetime().nullable(),
    /** While it is paused its runs are accepted and queue. */
    isPaused: p.boolean().default(false),
    /** SHA-256 of the secret of its inbound webhook. */
    triggerSecretHash: p.blob().nullable(),
    /** Whether it is a tool of the MCP server. */
    mcp: p.json<McpSetting>().columnType('json').nullable(),
    /** The name of that tool; null where it is none. */
    toolName: p.string().length(64).nullable(),
  },
  uniques: [
    {
      name: 'automation_tool_index',
      properties: ['organizationId', 'environment', 'toolName'],
      where: 'tool_name is not null and deleted_at is null',
    },
  ],
  indexes: [
    { properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    {
      name: 'automation_state_index',
      properties: ['organizationId', 'environment', 'state', 'createdAt', 'id'],
      where: 'deleted_at is null',
    },
    {
      name: 'automation_deleted_index',
      properties: ['organizationId', 'environment'],
      where: 'deleted_at is not null',
    },
  ],
});
export type Automation = InferEntity<typeof Automation>;

/** Never updated: a run pins the definition it started with, and a change of the workflow adds a new one. */
export const Definition = defineEntity({
  name: 'Definition',
  tableName: 'definition',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    automationId: p.uuid(),
    aiProvider: p.string().length(20),
    aiModel: p.string().length(200),
    steps: p.json<Step[]>().columnType('json'),
    config: p.json<Record<string, unknown>>().columnType('json'),
    inputs: p.json<InputDefinition[]>().columnType('json'),
    concurrency: p.json<Concurrency>().columnType('json').nullable(),
    maxDurationSeconds: p.integer().nullable(),
    /** 1, 2, 3 … within its automation. */
    version: p.integer(),
    /** Who saved it, as the audit log names them. */
    createdBy: p.string().length(64).nullable(),
    /** Dotted paths that differ from the version before, at most 50. */
    changes: p.json<string[]>().nullable(),
    createdAt: p.datetime(),
  },
  uniques: [{ name: 'definition_version_index', properties: ['automationId', 'version'] }],
});
export type Definition = InferEntity<typeof Definition>;

export const Run = defineEntity({
  name: 'Run',
  tableName: 'run',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    automationId: p.uuid(),
    definitionId: p.uuid(),
    /** 1, 2, 3 … within its automation. Removed runs leave gaps. */
    number: p.integer(),
    status: p.string().length(10).$type<RunStatus>(),
    input: p.json<unknown>().columnType('json').nullable(),
    variables: p.json<Record<string, unknown>>().columnType('json'),
    /** Bytes of the JSON; null where there is none. */
    inputBytes: p.integer().nullable(),
    variablesBytes: p.integer().nullable(),
    /** Without the outputs that are stored separately. */
    output: p.json<{ result: unknown; steps: Record<string, unknown> }>().columnType('json').nullable(),
    /** Bytes of the outputs in `output`; null until the run completes. */
    outputBytes: p.integer().nullable(),
    /** Bytes of the outputs that are stored only in their steps' rows, by step id. */
    outputsApart: p.json<Record<string, number>>().nullable(),
    /** The step whose output is the result. */
    resultStep: p.string().length(64).nullable(),
    error: p.json<RunError>().columnType('json').nullable(),
    tokensUsed: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    currentStep: p.string().length(64).nullable(),
    /** The first position; above 0 when it retries an earlier run from a later step. */
    firstPosition: p.integer().default(0),
    /** The run that this one retries. */
    retryOf: p.uuid().nullable(),
    /** By the dotted paths of its steps: runs before it whose ids stay in the keys of the steps' calls. */
    stepKeys: p.json<Record<string, string>>().columnType('json').nullable(),
    finishedSteps: p.integer(),
    totalSteps: p.integer(),
    correlationId: p.string().length(128),
    /** The key whose request started it; null where a person, a trigger or a step did. */
    keyId: p.uuid().nullable(),
    createdAt: p.datetime(),
    startedAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    /** When the reconciler last asked Temporal about it. */
    checkedAt: p.datetime().nullable(),
    /** Raised by each activity that executes a flow: what an earlier one still writes is refused. */
    fence: p.integer().default(0),
    /** Set while everything that is open of the run waits. Counted in `WaitingTotal`. */
    waitingSince: p.datetime().nullable(),
    /** How long it waited before; null when it never did. */
    waitedMs: p.bigint('number').nullable(),
    tags: p.json<string[]>().nullable(),
    metadata: p.json<Record<string, unknown>>().columnType('json').nullable(),
    triggerType: p.string().length(10).$type<TriggerType>().default('api'),
    /** What else is known of its trigger. */
    triggeredBy: p.json<TriggerFacts>().columnType('json').nullable(),
    /** The run whose step started this one, and that step's path. */
    parentRunId: p.uuid().nullable(),
    parentPath: p.text().nullable(),
    /** The first run of the chain; null in that run. */
    rootRunId: p.uuid().nullable(),
    /** From 1. */
    depth: p.smallint().default(1),
    batchId: p.uuid().nullable(),
    /** When its delay ends. */
    scheduledFor: p.datetime().nullable(),
    /** The time at which it is cancelled unless it has begun. */
    expiresAt: p.datetime().nullable(),
    /** 1 is first, within the organization. */
    priority: p.smallint().default(3),
    /** Why it may not begin. Its start is enqueued when this becomes null. */
    queuedFor: p.string().length(11).$type<QueueReason>().nullable(),
    /** The runs that share a limit: of a workflow and the value of its concurrency key. */
    concurrencyGroup: p.uuid().nullable(),
    /** Its slot of the group; `lent` while it waits for a child, `returning` while it requests the slot again. */
    slot: p.string().length(9).$type<'held' | 'lent' | 'returning'>().nullable(),
    isTest: p.boolean().default(false),
    /** What steps of a test run end with instead of being executed, by step id. */
    mocks: p.json<Mocks>().nullable(),
    /** The code in `error`. */
    errorCode: p.string().length(64).nullable(),
    maxDurationSeconds: p.integer().nullable(),
    /** How long it executed before it last waited. Kept only where that is limited. */
    executingMs: p.bigint('number').nullable(),
    /** While it executes: when that has taken as long as it may. */
    timesOutAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['automationId', 'number'] }],
  indexes: [
    // The included columns let lists count and page without reading the runs themselves.
    {
      name: 'run_automation_id_status_number_index',
      properties: ['automationId', 'status', 'number'],
      include: ['organizationId', 'environment', 'id', 'createdAt'],
    },
    {
      name: 'run_correlation_list_index',
      properties: ['correlationId', 'organizationId', 'environment', 'createdAt', 'id'],
      include: ['isTest'],
    },
    { name: 'run_block_end_index', properties: ['automationId', 'number'], where: 'number % 1000 = 0' },
    { name: 'run_finished_index', properties: ['organizationId', 'finishedAt'], where: 'finished_at is not null' },
    {
      name: 'run_definition_list_index',
      properties: ['definitionId', 'createdAt', 'id'],
      include: ['organizationId', 'environment', 'isTest'],
    },
    { name: 'run_open_index', properties: ['status', 'createdAt'], where: `status in (${openRun})` },
    {
      name: 'run_list_index',
      properties: ['organizationId', 'environment', 'triggerType', 'status', 'createdAt', 'id'],
      where: 'not is_test',
    },
    { name: 'run_test_index', properties: ['organizationId', 'environment', 'createdAt', 'id'], where: 'is_test' },
    {
      name: 'run_error_list_index',
      properties: ['organizationId', 'environment', 'errorCode', 'createdAt', 'id'],
      where: 'error_code is not null and not is_test',
    },
    {
      name: 'run_parent_index',
      properties: ['parentRunId', 'createdAt', 'id'],
      include: ['organizationId', 'environment', 'isTest'],
      where: 'parent_run_id is not null',
    },
    {
      name: 'run_batch_index',
      properties: ['batchId', 'createdAt', 'id'],
      include: ['organizationId', 'environment', 'isTest'],
      where: 'batch_id is not null',
    },
    {
      name: 'run_queue_index',
      properties: ['automationId', 'queuedFor', 'concurrencyGroup', 'priority', 'number'],
      where: `status = 'queued' and queued_for is not null`,
    },
    { name: 'run_delay_index', properties: ['scheduledFor'], where: `status = 'queued' and queued_for = 'delay'` },
    { name: 'run_expiry_index', properties: ['expiresAt'], where: `status = 'queued' and expires_at is not null` },
    {
      name: 'run_slot_index',
      properties: ['concurrencyGroup', 'slot', 'number'],
      where: `status in (${openRun}) and slot is not null`,
    },
    { name: 'run_test_root_index', properties: ['rootRunId'], where: 'is_test and root_run_id is not null' },
    { name: 'run_test_open_index', properties: ['createdAt'], where: "is_test and status in ('queued', 'running')" },
    { name: 'run_time_limit_index', properties: ['timesOutAt'], where: 'times_out_at is not null' },
  ],
});
export type Run = InferEntity<typeof Run>;

/** The tags of runs once more, in the order of lists. */
export const RunTag = defineEntity({
  name: 'RunTag',
  tableName: 'run_tag',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    tag: p.string().length(64).primary(),
    ...tenant,
    /** When the run was created. */
    createdAt: p.datetime(),
  },
  indexes: [{ name: 'run_tag_list_index', properties: ['organizationId', 'environment', 'tag', 'createdAt', 'runId'] }],
});

/** Runs of a workflow that were started together. */
export const RunBatch = defineEntity({
  name: 'RunBatch',
  tableName: 'run_batch',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    automationId: p.uuid(),
    name: p.string().length(100).nullable(),
    status: p.string().length(10).$type<BatchStatus>(),
    /** Its items. */
    total: p.integer(),
    /** Items whose key had started a run before. */
    reused: p.integer(),
    /** Items that the concurrency of the workflow skipped. */
    skipped: p.integer(),
    createdAt: p.datetime(),
    /** When the last of its runs had ended. */
    completedAt: p.datetime().nullable(),
    correlationId: p.string().length(128),
  },
  indexes: [
    { name: 'run_batch_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'run_batch_automation_index', properties: ['automationId'] },
    {
      name: 'run_batch_open_index',
      properties: ['organizationId', 'environment'],
      where: 'completed_at is null',
    },
  ],
});

/** How many of 1000 consecutive runs of a workflow ended in each way. Written once, when all of them have ended. */
export const RunBlock = defineEntity({
  name: 'RunBlock',
  tableName: 'run_block',
  filters: { tenant: tenantFilter },
  properties: {
    automationId: p.uuid().primary(),
    /** 0 for the runs 1 to 1000. */
    block: p.integer().primary(),
    ...tenant,
    completed: p.integer(),
    failed: p.integer(),
    cancelled: p.integer(),
  },
});

/** The result of one step of a run. It is read before a call, which makes a repeated activity harmless. */
export const RunStep = defineEntity({
  name: 'RunStep',
  tableName: 'run_step',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    position: p.integer().primary(),
    ...tenant,
    stepId: p.string().length(64),
    /** Dotted, from the top: `each.3.ask`. Null in a run with a single list of steps. */
    path: p.text().nullable(),
    name: p.string().length(200).nullable(),
    status: p.string().length(10).$type<StepStatus>(),
    /** Counts of a container's branches or items. */
    counts: p.json<StepCounts>().columnType('json').nullable(),
    /** The run whose id is in the keys of the step's calls, if this run retries an earlier one. */
    keyRunId: p.uuid().nullable(),
    /** When it sent a request that must not be sent twice. */
    sentAt: p.datetime().nullable(),
    /** How often it has begun. Each round was an attempt of its own, which is not shown as one. */
    attempts: p.integer(),
    /** Answers of its model that requested tools. */
    rounds: p.smallint().default(0),
    output: p.json<unknown>().columnType('json').nullable(),
    /** Bytes of the output as JSON. */
    outputBytes: p.integer().nullable(),
    /** The name of the file that has the output instead, where it is large. */
    outputFile: p.string().length(48).nullable(),
    error: p.json<RunError>().columnType('json').nullable(),
    /** At most 20 of them. */
    warnings: p.json<Warning[]>(),
    /** How many there were; null while the step runs. */
    warningsTotal: p.integer().nullable(),
    provider: p.string().length(20).nullable(),
    model: p.string().length(200).nullable(),
    /** The models of its last attempt, in order; null unless a fallback was called. */
    models: p.json<AskedModel[]>().columnType('json').nullable(),
    tokensUsed: p.integer().nullable(),
    startedAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    durationMs: p.integer().nullable(),
  },
  uniques: [{ name: 'run_step_path_index', properties: ['runId', 'path'], where: 'path is not null' }],
  indexes: [{ name: 'run_step_output_file_index', properties: ['outputFile'], where: 'output_file is not null' }],
});
export type RunStep = InferEntity<typeof RunStep>;

/**
 * The tools that the model of a step was offered and the calls that it asked for, while the step uses tools. Removed
 * some time after the step has ended. Written only by SQL statements.
 */
export const RunStepRound = defineEntity({
  name: 'RunStepRound',
  tableName: 'run_step_round',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    position: p.integer().primary(),
    /** 0: the offered tools. From 1: the answers that requested tools. */
    round: p.smallint().primary(),
    ...tenant,
    /** JSON: a list of `DeclaredTool`, or an `AskedRound`. */
    content: p.text(),
  },
});

/** A call of a tool by a step. Part of the step's result. Written only by SQL statements. */
export const RunStepCall = defineEntity({
  name: 'RunStepCall',
  tableName: 'run_step_call',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    position: p.integer().primary(),
    /** From 1. */
    round: p.smallint().primary(),
    /** Its position in the model's answer, from 0. */
    call: p.smallint().primary(),
    ...tenant,
    /** Under which the tool was offered. */
    name: p.string().length(64),
    /** JSON; null if it exceeds the stored size. */
    args: p.text().nullable(),
    /** How often it has begun: committed before each attempt. */
    attempts: p.smallint(),
    /** As the model gets it; null while its outcome is not known. */
    result: p.text().nullable(),
    isError: p.boolean().nullable(),
  },
});

/** The schedule of a workflow. This row is authoritative; the Temporal Schedule follows it. */
export const AutomationSchedule = defineEntity({
  name: 'AutomationSchedule',
  tableName: 'automation_schedule',
  filters: { tenant: tenantFilter },
  properties: {
    automationId: p.uuid().primary(),
    ...tenant,
    cron: p.string().length(200),
    timezone: p.string().length(64),
    paused: p.boolean(),
    input: p.json<unknown>().columnType('json').nullable(),
    variables: p.json<Record<string, unknown>>().columnType('json'),
    tags: p.json<string[]>().nullable(),
    metadata: p.json<Record<string, unknown>>().columnType('json').nullable(),
    expiresInMs: p.bigint('number').nullable(),
    priority: p.smallint().nullable(),
    version: p.integer().nullable(),
    /** Changes with every write. The Temporal Schedule carries the revision that it was created from. */
    revision: p.uuid(),
    lastRunAt: p.datetime().nullable(),
    /** The last time at which no run was started, and why. */
    lastSkippedAt: p.datetime().nullable(),
    lastSkippedReason: p.string().length(60).nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ properties: ['organizationId', 'environment'] }],
});
export type AutomationSchedule = InferEntity<typeof AutomationSchedule>;

/** A run whose step is calling out, or that waits for a slot. Written only by SQL statements. */
export const CallingRun = defineEntity({
  name: 'CallingRun',
  tableName: 'calling_run',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    ...tenant,
    /** Null while it waits. */
    leasedUntil: p.datetime().nullable(),
    /** Slots besides its own: a flow has one for each step that calls out. */
    extra: p.integer().default(0),
    /** Since when it waits, where it does. */
    since: p.datetime().defaultRaw('now()'),
    /** The steps of a flow that wait for slots: the first ones. */
    steps: p.json<{ stepId: string; path: string }[]>().nullable(),
  },
  indexes: [
    {
      name: 'calling_run_waiting_index',
      properties: ['organizationId', 'environment', 'runId'],
      where: 'leased_until is null',
    },
    { properties: ['leasedUntil'] },
  ],
});

/** How many rows of `CallingRun` a tenant has. A transaction that changes them locks it. */
export const CallingTotal = defineEntity({
  name: 'CallingTotal',
  tableName: 'calling_total',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    held: p.integer(),
    waiting: p.integer(),
    /** Whether the claim that wrote it last was admitted. */
    isAdmitting: p.boolean(),
  },
});
