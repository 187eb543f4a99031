import type { AutomationDetail, AutomationSummary } from '../../src/automation/automations.ts';
import { runIds, workflowIds } from '../../src/automation/core/ids.ts';
import { type RunStatus, runStatuses } from '../../src/automation/core/run-status.ts';
import type { SeenEvent } from '../../src/automation/follow-run.ts';
import type { RunDetail, RunSummary } from '../../src/automation/runs.ts';
import type { ResourceId } from '../../src/platform/core/ids.ts';
import type { AppError, Facts } from '../../src/platform/errors.ts';
import type { Page } from '../../src/platform/page.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { Envelope } from '../envelopes.ts';
import type {
  AcceptedAnswer,
  ExecuteBody,
  ExecutedAnswer,
  RunDetailAnswer,
  RunListAnswer,
} from '../schemas/automation/run.ts';
import type {
  ChangedWorkflowAnswer,
  WorkflowDetailAnswer,
  WorkflowListAnswer,
  WorkflowSummaryAnswer,
} from '../schemas/automation/workflow.ts';

/** What `execute` was asked for, whichever dialect asked. */
export interface Execution {
  input: { value: unknown } | 'whole';
  variables: Record<string, unknown>;
  /** Whether the caller waits for the end. */
  wait: boolean;
}

/** The run as `execute` knows it once it stops waiting: its end, or that it goes on. */
export type ExecutedRun = Pick<
  RunDetail,
  'id' | 'automationId' | 'status' | 'output' | 'outputsApart' | 'resultApart' | 'tokensUsed' | 'durationMs'
>;

/** One variant of the published interface: how it reads and how it answers. Pure functions, no requests. */
export interface Dialect {
  readonly variant: Variant;
  readonly defaultLimit: number;
  /** Reads liberally: both variants' ways of saying it. */
  readExecution(body: ExecuteBody): Execution;
  errorCode(error: AppError): string;
  /** Facts with ids in this dialect's form. */
  facts(facts: Facts): Facts;
  /** What this dialect wraps such an error in, where the surface's own envelope is E1. */
  envelope(error: AppError): Envelope;
  workflowSummary(workflow: AutomationSummary): WorkflowSummaryAnswer;
  workflowDetail(workflow: AutomationDetail, webhookUrl: string): WorkflowDetailAnswer;
  workflowChange(workflow: AutomationDetail): ChangedWorkflowAnswer;
  workflowList(page: Page<AutomationSummary>): WorkflowListAnswer;
  runList(page: Page<RunSummary>): RunListAnswer;
  runDetail(run: RunDetail): RunDetailAnswer;
  /** The answer to a caller that waited until the end. */
  executed(run: ExecutedRun): ExecutedAnswer;
  /** The data of an event in a run's stream. */
  runEvent(event: SeenEvent): object;
  /** The answer to a caller that did not wait, or not long enough. */
  accepted(run: { runId: string; automationId: string }): AcceptedAnswer;
}

/** Status words of runs in both dialects, in lower case, and what they mean. */
export const runStatusWords: ReadonlyMap<string, RunStatus> = new Map([
  ['pending', 'queued'],
  ...runStatuses.map((status) => [status, status] as const),
]);

/** Ids in facts are known by the names of their members. A text that is no id is left as the caller sent it. */
export function mapIdFacts(facts: Facts, map: (ids: ResourceId, text: string) => string): Facts {
  const { workflowId, runId } = facts;
  return {
    ...facts,
    ...(typeof workflowId === 'string' && { workflowId: map(workflowIds, workflowId) }),
    ...(typeof runId === 'string' && { runId: map(runIds, runId) }),
  };
}

/** How both dialects read `execute`; they differ in whether a caller waits who says nothing of it. */
export function readExecution(body: ExecuteBody, waitByDefault: boolean): Execution {
  const wait = body.async === undefined ? waitByDefault : !body.async;
  if (body.inputs !== undefined) return { input: 'whole', variables: body.inputs, wait };
  return { input: { value: body.input }, variables: body.variables ?? {}, wait };
}
