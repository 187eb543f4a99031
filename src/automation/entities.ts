import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database.ts';
import type { AutomationState } from './core/automation-state.ts';
import type { InputDefinition } from './core/inputs.ts';
import { openRun, type RunError, type RunStatus, type StepStatus } from './core/run-status.ts';
import type { Step } from './core/steps.ts';
import type { Warning } from './core/template.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** The product's "workflow". In this code the word workflow always means Temporal's. */
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
    /** Counts every run ever started, and so numbers them without gaps. */
    totalRuns: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** Set when the workflow was deleted: it is gone from every read, and its rows are purged behind it. */
    deletedAt: p.datetime().nullable(),
    /** SHA-256 of the secret by which others may start it. */
    triggerSecretHash: p.blob().nullable(),
  },
  indexes: [{ properties: ['organizationId', 'environment', 'createdAt', 'id'] }],
});
export type Automation = InferEntity<typeof Automation>;

/** Never changed once written: a run pins the one it started with, a change of the workflow adds another. */
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
    steps: p.json<Step[]>(),
    config: p.json<Record<string, unknown>>(),
    inputs: p.json<InputDefinition[]>(),
    createdAt: p.datetime(),
  },
  indexes: [{ properties: ['automationId'] }],
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
    /** 1, 2, 3 … within its automation, without gaps: a page of a list is found by arithmetic. */
    number: p.integer(),
    status: p.string().length(10).$type<RunStatus>(),
    input: p.json<unknown>().nullable(),
    variables: p.json<Record<string, unknown>>(),
    /** Without the outputs that are kept apart. */
    output: p.json<{ result: unknown; steps: Record<string, unknown> }>().nullable(),
    /** Bytes of the outputs that only their steps' rows hold, by step id. */
    outputsApart: p.json<Record<string, number>>().nullable(),
    /** The step whose output is the result. */
    resultStep: p.string().length(64).nullable(),
    error: p.json<RunError>().nullable(),
    tokensUsed: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    currentStep: p.string().length(64).nullable(),
    /** Where it begins; past 0 when it goes on where an earlier run failed. */
    firstPosition: p.integer().default(0),
    /** The run that this one retries. */
    retryOf: p.uuid().nullable(),
    finishedSteps: p.integer(),
    totalSteps: p.integer(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    startedAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    /** When Temporal was last asked what became of it. */
    checkedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['automationId', 'number'] }],
  indexes: [
    { properties: ['automationId', 'status', 'number'] },
    { name: 'run_open_index', properties: ['status', 'createdAt'], where: `status in (${openRun})` },
  ],
});
export type Run = InferEntity<typeof Run>;

/** What happened to one step of a run. The row is what makes a repeated activity harmless: it is read before a call. */
export const RunStep = defineEntity({
  name: 'RunStep',
  tableName: 'run_step',
  filters: { tenant: tenantFilter },
  properties: {
    runId: p.uuid().primary(),
    position: p.integer().primary(),
    ...tenant,
    stepId: p.string().length(64),
    name: p.string().length(200).nullable(),
    status: p.string().length(10).$type<StepStatus>(),
    attempts: p.integer(),
    output: p.json<unknown>().nullable(),
    /** Of the output as JSON. */
    outputBytes: p.integer().nullable(),
    error: p.json<RunError>().nullable(),
    warnings: p.json<Warning[]>(),
    provider: p.string().length(20).nullable(),
    model: p.string().length(200).nullable(),
    tokensUsed: p.integer().nullable(),
    startedAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    durationMs: p.integer().nullable(),
  },
});
export type RunStep = InferEntity<typeof RunStep>;

/** When a workflow runs by itself. This row is the truth; the Temporal Schedule is brought in line with it. */
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
    input: p.json<unknown>().nullable(),
    variables: p.json<Record<string, unknown>>(),
    /** Another one whenever the schedule is written: the Temporal Schedule carries the one that it was made from. */
    revision: p.uuid(),
    lastRunAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type AutomationSchedule = InferEntity<typeof AutomationSchedule>;
