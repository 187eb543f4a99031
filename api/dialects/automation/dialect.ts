import type { AutomationDetail, AutomationSummary } from '../../../src/automation/automations.ts';
import { type RunStatus, runStatuses } from '../../../src/automation/core/run-status.ts';
import type { SeenEvent } from '../../../src/automation/follow-run.ts';
import type { RunSummary, ValuesApart } from '../../../src/automation/run-columns.ts';
import type { RunDetail } from '../../../src/automation/runs.ts';
import type { Page } from '../../../src/platform/page.ts';
import type {
  AcceptedAnswer,
  ExecuteBody,
  ExecutedAnswer,
  RunDetailAnswer,
  RunListAnswer,
  TriggeredAnswer,
} from '../../schemas/automation/run.ts';
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
}

/** The run when `execute` stops waiting for it. */
export type ExecutedRun = Pick<
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
  runDetail(run: RunDetail): RunDetailAnswer;
  /** The answer when the caller waited until the run ended. */
  executed(run: ExecutedRun): ExecutedAnswer;
  /** The data of an event in a run's stream. */
  runEvent(event: SeenEvent): object;
  /** The answer when the run goes on after it. */
  accepted(run: { runId: string; automationId: string }): AcceptedAnswer;
  /** The answer to a trigger: the run's id and status, and nothing else. */
  triggered(run: { runId: string }): TriggeredAnswer;
}

/** The status words of runs in both dialects, in lower case. */
export const runStatusWords: ReadonlyMap<string, RunStatus> = new Map([
  ['pending', 'queued'],
  ...runStatuses.map((status) => [status, status] as const),
]);

/** Reads `execute`. The dialects differ in whether a caller waits by default. */
export function readExecution(body: ExecuteBody, waitByDefault: boolean): Execution {
  const wait = body.async === undefined ? waitByDefault : !body.async;
  if (body.inputs !== undefined) return { input: 'whole', variables: body.inputs, wait };
  return { input: { value: body.input }, variables: body.variables ?? {}, wait };
}
