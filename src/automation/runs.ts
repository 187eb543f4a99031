import { AppError } from '../platform/errors.ts';
import type { Page } from '../platform/page.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { runIds, workflowIds } from './core/ids.ts';
import { progressOf, type RunError, type RunStatus, type StepStatus } from './core/run-status.ts';
import type { Warning } from './core/template.ts';
import { runNotFound, workflowNotFound } from './errors.ts';

export interface RunOutput {
  /** The output of the last executed step that is not a condition. */
  result: unknown;
  /** Output of each finished step by its id. */
  steps: Record<string, unknown>;
}

/** Outputs that are too large to be included: null is in their place. */
export interface OutputsApart {
  /** Bytes of each as JSON, by step id; null when there are none. */
  outputsApart: Record<string, number> | null;
  /** The step whose output is the result, when that output is too large and was not read. */
  resultApart: string | null;
}

export interface RunSummary extends OutputsApart {
  id: string;
  automationId: string;
  automationName: string;
  status: RunStatus;
  input: unknown;
  variables: Record<string, unknown>;
  output: RunOutput | null;
  error: RunError | null;
  tokensUsed: number | null;
  durationMs: number | null;
  currentStep: string | null;
  /** Percent. */
  progress: number;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

export interface StepResult {
  stepId: string;
  name: string | null;
  status: StepStatus;
  output: unknown;
  /** Bytes of an output that is too large to be included: null is in its place. */
  outputApart: number | null;
  error: RunError | null;
  attempts: number;
  provider: string | null;
  model: string | null;
  tokensUsed: number | null;
  durationMs: number | null;
  warnings: Warning[];
  startedAt: Date;
  finishedAt: Date | null;
}

export type RunDetail = RunSummary & { stepResults: StepResult[] };

type RunRow = Omit<RunSummary, 'progress'> & { finishedSteps: number; totalSteps: number };

const columns = `r.id, r.automation_id as "automationId", a.name as "automationName", r.status, r.input, r.variables,
  r.output, r.outputs_apart as "outputsApart",
  case when r.outputs_apart ? r.result_step then r.result_step end as "resultApart", r.error, r.tokens_used as "tokensUsed", r.duration_ms as "durationMs", r.current_step as "currentStep",
  r.finished_steps as "finishedSteps", r.total_steps as "totalSteps", r.created_at as "createdAt",
  r.started_at as "startedAt", r.finished_at as "finishedAt"`;

const live = `from run r join automation a on a.id = r.automation_id and a.deleted_at is null
  where r.organization_id = $1 and r.environment = $2`;

/** The largest output that is included with its step, in bytes. */
const shownBytes = 256 * 1024;
const isApart = `(coalesce(s.output_bytes, 0) > ${shownBytes} or coalesce(r.outputs_apart ? s.step_id, false))`;

const findDetail = statement<RunRow & { stepResults: StepResult[] }>(
  'run.detail',
  `select ${columns}, coalesce(
     (select jsonb_agg(jsonb_build_object('stepId', s.step_id, 'name', s.name, 'status', s.status,
               'output', case when not ${isApart} then s.output end,
               'outputApart', case when ${isApart} then s.output_bytes end, 'error', s.error, 'attempts', s.attempts, 'provider', s.provider, 'model', s.model,
               'tokensUsed', s.tokens_used, 'durationMs', s.duration_ms, 'warnings', s.warnings, 'startedAt', s.started_at,
               'finishedAt', s.finished_at) order by s.position)
        from run_step s where s.run_id = r.id), '[]') as "stepResults"
   ${live} and r.id = $3`,
);

/** In JSON, times are strings. */
const withDates = (step: StepResult): StepResult => ({
  ...step,
  startedAt: new Date(step.startedAt),
  finishedAt: step.finishedAt && new Date(step.finishedAt),
});

const withProgress = <Row extends RunRow>({ finishedSteps, totalSteps, ...row }: Row) => ({
  ...row,
  progress: progressOf(row.status, finishedSteps, totalSteps),
});

const findOutput = statement<{ output: unknown; found: boolean }>(
  'run.output',
  `select s.output, s.step_id is not null as found
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
     left join run_step s on s.run_id = r.id and s.step_id = $4 and s.status = 'completed'
    where r.organization_id = $1 and r.environment = $2 and r.id = $3`,
);

/**
 * One step's output, whatever its size. `id` in either form.
 * @throws AppError run_not_found, not_found when the step has no output
 */
export async function getOutput(scope: Scope, id: string, stepId: string): Promise<unknown> {
  const uuid = runIds.parse(id);
  const row = uuid && (await scope.one(findOutput, uuid, stepId));
  if (!row) throw runNotFound(id);
  if (!row.found) throw new AppError('not_found', 'The run has no output of a step of this id.');
  return row.output;
}

/** A run with its result, whatever its size. `id` in either form. @throws AppError run_not_found */
export async function getRun(scope: Scope, id: string): Promise<RunDetail> {
  const uuid = runIds.parse(id);
  const found = uuid && (await scope.one(findDetail, uuid));
  if (!found) throw runNotFound(id);
  const run = withProgress({ ...found, stepResults: found.stepResults.map(withDates) });
  if (!run.output || run.resultApart === null) return run;
  return { ...run, resultApart: null, output: { ...run.output, result: await getOutput(scope, id, run.resultApart) } };
}

const findStatus = statement<{ status: RunStatus }>('run.status', `select r.status ${live} and r.id = $3`);

/** Undefined when the run does not exist. */
export async function runStatus(scope: Scope, runId: string): Promise<RunStatus | undefined> {
  return (await scope.one(findStatus, runId))?.status;
}

const findTotal = statement<{ totalRuns: number }>(
  'run.total',
  `select total_runs as "totalRuns" from automation
    where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null`,
);

// Runs are numbered without gaps, so a page is a range of numbers and costs the same at any offset.
const listByNumber = statement<RunRow>(
  'run.list',
  `select ${columns} ${live} and r.automation_id = $3 and r.number <= $4 order by r.number desc limit $5`,
);

const listByStatus = statement<RunRow>(
  'run.list_by_status',
  `select ${columns} ${live} and r.automation_id = $3 and r.status = $4 order by r.number desc limit $5 offset $6`,
);

const countByStatus = statement<{ count: number }>(
  'run.count_by_status',
  `select count(*)::int as count ${live} and r.automation_id = $3 and r.status = $4`,
);

/** A workflow's runs, newest first. `status` absent means all. @throws AppError workflow_not_found */
export async function listRuns(
  scope: Scope,
  workflowId: string,
  { status, limit, offset }: { status?: RunStatus | undefined; limit: number; offset: number },
): Promise<Page<RunSummary>> {
  const uuid = workflowIds.parse(workflowId);
  const automation = uuid && (await scope.one(findTotal, uuid));
  if (!automation) throw workflowNotFound(workflowId);
  if (!status) {
    const rows = await scope.rows(listByNumber, uuid, Math.max(0, automation.totalRuns - offset), limit);
    return { items: rows.map(withProgress), total: automation.totalRuns, limit, offset };
  }
  const [rows, counted] = await Promise.all([
    scope.rows(listByStatus, uuid, status, limit, offset),
    scope.one(countByStatus, uuid, status),
  ]);
  return { items: rows.map(withProgress), total: counted!.count, limit, offset };
}
