import { runIds, workflowIds } from '../../../src/automation/core/ids.ts';
import type { AutomationSummary } from '../../../src/automation/definitions/automations.ts';
import type { RunDetail, RunSummary } from '../../../src/automation/runs/runs.ts';
import type { Page } from '../../../src/platform/database/page.ts';
import { invalid } from '../../../src/platform/errors.ts';
import { type AutomationDialect, readExecution, startedWith, startingOf } from './dialect.ts';
import { fitRuns } from './fit-answer.ts';
import { outputReference, shownOutput, shownPlace } from './outputs.ts';
import { publishedError } from './published-error.ts';
import { deltaData, eventData } from './run-events.ts';
import { shownStepInB } from './shown-step.ts';

const summary = (workflow: AutomationSummary) => ({
  id: workflowIds.format(workflow.id),
  name: workflow.name,
  description: workflow.description,
  status: workflow.state,
  totalRuns: workflow.totalRuns,
  createdAt: workflow.createdAt.toISOString(),
  updatedAt: workflow.updatedAt.toISOString(),
});

const flat = ({ total, limit, offset }: Page<unknown>) => ({ total, limit, offset });

/** Leaves out fields without a value. */
const known = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as {
    [Name in keyof Fields]?: NonNullable<Fields[Name]>;
  };

const finishedAt = (run: RunSummary, status: RunSummary['status']) =>
  run.status === status ? run.finishedAt?.toISOString() : undefined;

const runSummary = (run: RunSummary) => ({
  runId: runIds.format(run.id),
  workflowId: workflowIds.format(run.automationId),
  status: run.status,
  progress: run.progress,
  ...known({
    currentStep: run.currentStep,
    startedAt: run.startedAt?.toISOString(),
    completedAt: finishedAt(run, 'completed'),
    failedAt: finishedAt(run, 'failed'),
    cancelledAt: finishedAt(run, 'cancelled'),
    duration: run.durationMs,
    output: shownOutput(run, runIds.format(run.id)),
    error: publishedError(run.error),
  }),
  ...startedWith(run, runIds.format),
});

const stepResult = (runId: string) => (result: RunDetail['stepResults'][number]) => ({
  stepId: result.stepId,
  name: result.name ?? result.stepId,
  ...shownPlace(result),
  status: result.status,
  attempts: result.attempts,
  warnings: result.warnings,
  warningsTotal: result.warningsTotal,
  ...known({
    duration: result.durationMs,
    output:
      result.outputApart === null
        ? result.output
        : outputReference(runId, result.stepId, result.outputApart, result.path),
    provider: result.provider,
    model: result.model,
    models: result.models,
    toolCalls: result.toolCalls,
    tokensUsed: result.tokensUsed,
    error: publishedError(result.error),
  }),
});

/** The reference guides of the same API: prefixed ids, lower-case statuses and flat pages. */
export const variantB: AutomationDialect = {
  readExecution: (body) => {
    const isEmpty = body.inputs === undefined && body.input === undefined && body.variables === undefined;
    if (isEmpty) throw invalid([{ path: 'inputs', message: 'Required.' }]);
    return readExecution(body, false);
  },

  workflowSummary: summary,
  workflowDetail: (workflow, webhookUrl) => ({
    ...summary(workflow),
    ...startingOf(workflow),
    version: workflow.version,
    aiModel: workflow.aiModel,
    aiProvider: workflow.aiProvider,
    steps: workflow.steps.map(shownStepInB),
    config: workflow.config,
    inputs: workflow.inputs,
    webhookUrl,
  }),
  workflowChange: (workflow) => ({
    id: workflowIds.format(workflow.id),
    name: workflow.name,
    description: workflow.description,
    status: workflow.state,
    aiModel: workflow.aiModel,
    updatedAt: workflow.updatedAt.toISOString(),
  }),
  workflowList: (page) => ({ workflows: page.items.map(summary), ...flat(page) }),
  runList: (page) => {
    const runs = page.items.map(runSummary);
    return fitRuns({ runs, ...flat(page) }, runs);
  },
  runSearch: ({ nextCursor, totalIsExact, ...page }) => {
    const runs = page.items.map(runSummary);
    return fitRuns({ runs, ...flat(page), nextCursor, ...(!totalIsExact && { totalIsExact }) }, runs);
  },
  runDetail: (run) => {
    const stepResults = run.stepResults.map(stepResult(runIds.format(run.id)));
    const detail = { ...runSummary(run), stepResults };
    return fitRuns(detail, [detail]);
  },

  stepList: (runId, page) => {
    const stepResults = page.items.map(stepResult(runIds.format(runId)));
    return fitRuns({ stepResults, ...flat(page) }, stepResults);
  },

  executed: (run) => {
    const executed = {
      runId: runIds.format(run.id),
      workflowId: workflowIds.format(run.automationId),
      status: run.status,
      duration: run.durationMs,
      output: shownOutput(run, runIds.format(run.id)),
    };
    return fitRuns(executed, [executed]);
  },
  runEvent: (event) =>
    eventData(event, {
      runId: runIds.format(event.run.id),
      status: event.run.status,
      idOf: runIds.format,
      durationName: 'duration',
      showsTokens: false,
      error: (error) => publishedError(error),
    }),
  stepDelta: (delta) => deltaData(delta, runIds.format(delta.runId)),
  accepted: ({ runId, automationId, queuedFor }) => ({
    runId: runIds.format(runId),
    workflowId: workflowIds.format(automationId),
    status: queuedFor ? 'queued' : 'running',
    message: queuedFor ? 'Workflow execution queued' : 'Workflow execution started',
  }),
  triggered: ({ runId, queuedFor }) => ({ runId: runIds.format(runId), status: queuedFor ? 'queued' : 'running' }),
  skipped: () => ({ runId: null, status: 'skipped' }),
};
