import { asText } from '../../../src/automation/core/template.ts';
import type { AutomationSummary } from '../../../src/automation/definitions/automations.ts';
import type { RunDetail, RunSummary } from '../../../src/automation/runs/runs.ts';
import { statusInA } from '../../schemas/automation/run.ts';
import { paginationOf } from '../../schemas/pagination.ts';
import { type AutomationDialect, readExecution, startedWith, startingOf } from './dialect.ts';
import { fitRuns } from './fit-answer.ts';
import { outputReference, shownInput, shownOutput, shownPlace } from './outputs.ts';
import { publishedError } from './published-error.ts';
import { deltaData, eventData } from './run-events.ts';
import { shownStep } from './shown-step.ts';

const summary = (workflow: AutomationSummary) => ({
  id: workflow.id,
  name: workflow.name,
  description: workflow.description,
  isActive: workflow.state === 'active',
  totalRuns: workflow.totalRuns,
  createdAt: workflow.createdAt.toISOString(),
  updatedAt: workflow.updatedAt.toISOString(),
});

const runSummary = (run: RunSummary) => ({
  id: run.id,
  status: statusInA(run.status),
  input: shownInput(run, run.id),
  output: shownOutput(run, run.id),
  error: run.error?.message ?? null,
  tokensUsed: run.tokensUsed,
  durationMs: run.durationMs,
  createdAt: run.createdAt.toISOString(),
  ...startedWith(run, (uuid) => uuid),
});

const step = (runId: string) => (result: RunDetail['stepResults'][number]) => ({
  stepId: result.stepId,
  name: result.name ?? result.stepId,
  ...shownPlace(result),
  status: result.status,
  attempts: result.attempts,
  output:
    result.outputApart === null
      ? result.output
      : outputReference(runId, result.stepId, result.outputApart, result.path),
  error: publishedError(result.error),
  provider: result.provider,
  model: result.model,
  tokensUsed: result.tokensUsed,
  durationMs: result.durationMs,
  warnings: result.warnings,
  warningsTotal: result.warningsTotal,
  ...(result.models && { models: result.models }),
  ...(result.toolCalls && { toolCalls: result.toolCalls }),
});

/** The formal contract of the v1 workflow API: UUIDs, upper-case statuses and a pagination object. */
export const variantA: AutomationDialect = {
  readExecution: (body) => readExecution(body, true),

  workflowSummary: summary,
  workflowDetail: (workflow) => ({
    ...summary(workflow),
    ...startingOf(workflow),
    version: workflow.version,
    aiModel: workflow.aiModel,
    aiProvider: workflow.aiProvider,
    steps: workflow.steps.map(shownStep),
    config: workflow.config,
  }),
  workflowChange: (workflow) => ({
    id: workflow.id,
    name: workflow.name,
    description: workflow.description,
    isActive: workflow.state === 'active',
    aiModel: workflow.aiModel,
    updatedAt: workflow.updatedAt.toISOString(),
  }),
  workflowList: (page) => ({ workflows: page.items.map(summary), pagination: paginationOf(page) }),
  runList: (page) => {
    const runs = page.items.map(runSummary);
    return fitRuns({ runs, pagination: paginationOf(page) }, runs);
  },
  runSearch: ({ nextCursor, totalIsExact, ...page }) => {
    const runs = page.items.map((run) => ({
      ...runSummary(run),
      workflowId: run.automationId,
      workflowName: run.automationName,
    }));
    const hasMore = nextCursor !== null;
    const pagination = { ...paginationOf(page), hasMore, nextCursor, ...(!totalIsExact && { totalIsExact }) };
    return fitRuns({ runs, pagination }, runs);
  },
  runDetail: (run) => {
    const detail = {
      ...runSummary(run),
      workflowId: run.automationId,
      workflowName: run.automationName,
      steps: run.stepResults.map(step(run.id)),
    };
    return fitRuns(detail, [detail]);
  },

  stepList: (runId, page) => {
    const steps = page.items.map(step(runId));
    return fitRuns({ steps, pagination: paginationOf(page) }, steps);
  },

  executed: (run) => {
    const output = shownOutput(run, run.id);
    return {
      runId: run.id,
      status: statusInA(run.status),
      output: output === null ? null : asText(output.result),
      tokensUsed: run.tokensUsed,
      durationMs: run.durationMs,
    };
  },
  runEvent: (event) =>
    eventData(event, {
      runId: event.run.id,
      status: statusInA(event.run.status),
      idOf: (uuid) => uuid,
      durationName: 'durationMs',
      showsTokens: true,
      error: ({ message }) => message,
    }),
  stepDelta: (delta) => deltaData(delta, delta.runId),
  accepted: ({ runId, queuedFor }) => ({ runId, status: queuedFor ? 'PENDING' : 'RUNNING' }),
  triggered: ({ runId, queuedFor }) => ({ runId, status: queuedFor ? 'PENDING' : 'RUNNING' }),
  skipped: () => ({ runId: null, status: 'SKIPPED' }),
};
