import { approvalIds, batchIds } from '../../../src/automation/core/ids.ts';
import { type RunStatus, runStatuses } from '../../../src/automation/core/run-status.ts';
import { defaultPriority } from '../../../src/automation/core/starts.ts';
import { readPath } from '../../../src/automation/core/step-path.ts';
import type { AutomationDetail, AutomationSummary } from '../../../src/automation/definitions/automations.ts';
import type { RunPage } from '../../../src/automation/run-search/search-runs.ts';
import type { CreatedRun } from '../../../src/automation/runs/create-run.ts';
import type { SeenEvent } from '../../../src/automation/runs/follow-run.ts';
import type { RunOptions } from '../../../src/automation/runs/insert-run.ts';
import type { RunDetail, RunSummary, StepResult, ValuesApart, WaitingFor } from '../../../src/automation/runs/runs.ts';
import type { StepDelta } from '../../../src/automation/step-texts/delta-reader.ts';
import type { Page } from '../../../src/platform/database/page.ts';
import type {
  AcceptedAnswer,
  ExecuteBody,
  ExecutedAnswer,
  RunDetailAnswer,
  RunListAnswer,
  RunSearchAnswer,
  SkippedAnswer,
  StepListAnswer,
  TriggeredAnswer,
} from '../../schemas/automation/run.ts';
import { readRunOptions } from '../../schemas/automation/run-options.ts';
import type {
  ChangedWorkflowAnswer,
  WorkflowDetailAnswer,
  WorkflowListAnswer,
  WorkflowSummaryAnswer,
} from '../../schemas/automation/workflow.ts';

/** An execute request, read from either dialect. */
export interface Execution {
  input: { value: unknown } | 'whole';
  variables: Record<string, unknown>;
  /** Whether the caller waits until the run has ended. */
  wait: boolean;
  options?: RunOptions | undefined;
}

/** The run when `execute` stops waiting for it. */
type ExecutedRun = Pick<
  RunDetail,
  'id' | 'automationId' | 'status' | 'output' | 'tokensUsed' | 'durationMs' | keyof ValuesApart
>;

/** How one dialect reads and writes workflows and runs. Pure functions that know no requests. */
export interface AutomationDialect {
  /** Accepts the fields of both dialects. @throws AppError validation_error without any value, where the dialect needs one */
  readExecution(body: ExecuteBody): Execution;
  workflowSummary(workflow: AutomationSummary): WorkflowSummaryAnswer;
  workflowDetail(workflow: AutomationDetail, webhookUrl: string): WorkflowDetailAnswer;
  workflowChange(workflow: AutomationDetail): ChangedWorkflowAnswer;
  workflowList(page: Page<AutomationSummary>): WorkflowListAnswer;
  runList(page: Page<RunSummary>): RunListAnswer;
  /** Runs of all workflows. */
  runSearch(page: RunPage): RunSearchAnswer;
  runDetail(run: RunDetail): RunDetailAnswer;
  /** Steps of a run, by the id of the run. */
  stepList(runId: string, page: Page<StepResult>): StepListAnswer;
  /** The answer when the caller waited until the run ended. */
  executed(run: ExecutedRun): ExecutedAnswer;
  /** The data of an event in a run's stream. */
  runEvent(event: SeenEvent): object;
  /** The data of a part of a step's text. */
  stepDelta(delta: StepDelta): object;
  /** The answer if the run continues after it. */
  accepted(run: CreatedRun): AcceptedAnswer;
  /** The answer to a trigger: only the run's id and status. */
  triggered(run: CreatedRun): TriggeredAnswer;
  /** The answer when the workflow skips the run. A trigger gets no reason. */
  skipped(): SkippedAnswer;
}

/** The status words of runs in both dialects, in lower case. */
export const runStatusWords: ReadonlyMap<string, RunStatus> = new Map([
  ['pending', 'queued'],
  ...runStatuses.map((status) => [status, status] as const),
]);

/** Reads `execute`. The dialects differ in whether a caller waits by default. */
export function readExecution(body: ExecuteBody, waitByDefault: boolean): Execution {
  const wait = body.async === undefined ? waitByDefault : !body.async;
  const options = readRunOptions(body);
  if (body.inputs !== undefined) return { input: 'whole', variables: body.inputs, wait, options };
  return { input: { value: body.input }, variables: body.variables ?? {}, wait, options };
}

/** The wait of a step, for both dialects. */
export const shownWait = (
  { type, stepId, path, since, until, approvalId, runId: child }: WaitingFor,
  runId: (uuid: string) => string,
) => ({
  type,
  stepId,
  ...(path !== null && { path: readPath(path) }),
  since: new Date(since).toISOString(),
  ...(until !== null && { until: new Date(until).toISOString() }),
  ...(approvalId && { approvalId: approvalIds.format(approvalId) }),
  ...(child && { runId: runId(child) }),
});

/** The start of a run, for both dialects. Ids are written by the given functions. */
export function startedWith(
  run: RunSummary,
  runId: (uuid: string) => string,
): {
  version: number;
  triggeredBy: { type: RunSummary['triggerType'] } & Record<string, string>;
  tags?: string[];
  metadata?: Record<string, unknown>;
  parentRunId?: string;
  rootRunId?: string;
  batchId?: string;
  isTest?: true;
  priority?: number;
  scheduledFor?: string;
  expiresAt?: string;
  queuedFor?: NonNullable<RunSummary['queuedFor']>;
  waitingFor?: ReturnType<typeof shownWait>[];
} {
  const { chain: _, ...facts } = run.triggerFacts ?? {};
  if (facts.runId) facts.runId = runId(facts.runId);
  if (facts.batchId) facts.batchId = batchIds.format(facts.batchId);
  return {
    version: run.version,
    triggeredBy: { type: run.triggerType, ...facts },
    ...(run.tags && { tags: run.tags }),
    ...(run.metadata && { metadata: run.metadata }),
    ...(run.parentRunId && { parentRunId: runId(run.parentRunId) }),
    ...(run.rootRunId && { rootRunId: runId(run.rootRunId) }),
    ...(run.batchId && { batchId: batchIds.format(run.batchId) }),
    ...(run.isTest && { isTest: true as const }),
    ...(run.priority !== defaultPriority && { priority: run.priority }),
    ...(run.scheduledFor && { scheduledFor: run.scheduledFor.toISOString() }),
    ...(run.expiresAt && { expiresAt: run.expiresAt.toISOString() }),
    ...(run.queuedFor && { queuedFor: run.queuedFor }),
    ...(run.waitingFor && { waitingFor: run.waitingFor.map((wait) => shownWait(wait, runId)) }),
  };
}

/** How the runs of a workflow are started, by assistants too. */
export const startingOf = ({ concurrency, maxDurationSeconds, isPaused, mcp }: AutomationDetail) => ({
  ...(concurrency && { concurrency }),
  ...(maxDurationSeconds !== null && { maxDurationSeconds }),
  isPaused,
  ...(mcp && { mcp }),
});
