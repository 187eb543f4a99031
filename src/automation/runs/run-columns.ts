import { type Declaration, typed } from '../../platform/database/sql-types.ts';
import { progressOf, type RunError, type RunStatus } from '../core/run-status.ts';
import type { QueueReason, TriggerFacts, TriggerType } from '../core/starts.ts';
import { type WaitingFor, waitingForSql } from './waiting-for.ts';

export interface RunOutput {
  /** The output of the last executed step that is not a condition. */
  result: unknown;
  /** Output of each finished step by its id. */
  steps: Record<string, unknown>;
}

/** Values that are too large to be included: null is in their place. */
export interface ValuesApart {
  /** Bytes as JSON; null when it is included. */
  inputApart: number | null;
  variablesApart: number | null;
  /** Bytes of each as JSON, by step id; null when there are none. */
  outputsApart: Record<string, number> | null;
  /** The step whose output is the result, when that output is too large and was not read. */
  resultApart: string | null;
  /** The run of a workflow without steps: its result is its input. */
  returnsInput: boolean;
}

export interface RunSummary extends ValuesApart {
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
  /** The version of its workflow that it executes. */
  version: number;
  triggerType: TriggerType;
  triggerFacts: TriggerFacts | null;
  tags: string[] | null;
  metadata: Record<string, unknown> | null;
  /** The run whose step started it, and the first run of that chain. Null if no step started it. */
  parentRunId: string | null;
  rootRunId: string | null;
  batchId: string | null;
  isTest: boolean;
  priority: number;
  scheduledFor: Date | null;
  expiresAt: Date | null;
  /**
   * The reason why a queued run has not begun; null if it has, or is about to. `plan`: all slots of its plan are in
   * use.
   */
  queuedFor: QueueReason | 'plan' | null;
  /** The reason why a run waits whose open steps all wait; null otherwise. */
  waitingFor: WaitingFor[] | null;
}

export type RunRow = Omit<RunSummary, 'progress'> & { finishedSteps: number; totalSteps: number };

/** The types of the columns of a `RunRow`. */
export const runRow = {
  id: 'uuid',
  automationId: 'uuid',
  automationName: 'text',
  status: typed<RunStatus>('text'),
  input: 'json',
  inputApart: 'int?',
  variables: typed<RunRow['variables']>('json'),
  variablesApart: 'int?',
  output: typed<RunOutput | null>('json?'),
  outputsApart: typed<RunRow['outputsApart']>('json?'),
  resultApart: 'text?',
  returnsInput: 'boolean',
  error: typed<RunError | null>('json?'),
  tokensUsed: 'int?',
  durationMs: 'int?',
  currentStep: 'text?',
  finishedSteps: 'int',
  totalSteps: 'int',
  createdAt: 'timestamptz',
  startedAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
  triggerType: typed<TriggerType>('text'),
  triggerFacts: typed<TriggerFacts | null>('json?'),
  version: 'int',
  tags: typed<string[] | null>('jsonb?'),
  metadata: typed<RunRow['metadata']>('json?'),
  parentRunId: 'uuid?',
  rootRunId: 'uuid?',
  batchId: 'uuid?',
  priority: 'smallint',
  scheduledFor: 'timestamptz?',
  expiresAt: 'timestamptz?',
  queuedFor: typed<RunRow['queuedFor']>('text?'),
  waitingFor: typed<WaitingFor[] | null>('json?'),
  isTest: 'boolean',
} as const satisfies Declaration;

/** Selects the readable runs: those of workflows that are not deleted. */
export const live = `from run r join automation a on a.id = r.automation_id and a.deleted_at is null
  where r.organization_id = :organizationId and r.environment = :environment`;

/** The largest value of a run or step that is included in its detail, in bytes. */
export const shownBytes = 256 * 1024;
/** The same in lists. */
const listedBytes = 16 * 1024;
/** Outputs of a run that are included in its detail, in bytes: the smallest ones of as many in all. */
export const detailBytes = 2 * 1024 * 1024;

const [inputBytes, variablesBytes, outputBytes] = ['input', 'variables', 'output'].map(
  (column) => `coalesce(r.${column}_bytes, 0)`,
);

/**
 * The columns of a `RunRow`. An input and variables of more than `most` bytes are not read.
 * @param outputs `together`: outputs of more than `most` bytes in all are not read. `each`: as they are stored, which is
 *   without those of more than 256 KiB, unless they have more than 2 MiB in all
 */
function runColumns(maxBytes: number, outputs: 'together' | 'each'): string {
  const isAbove =
    outputs === 'together'
      ? `${outputBytes} > ${maxBytes}`
      : `(r.total_steps = 0 and ${inputBytes} > ${maxBytes} or ${outputBytes} > ${detailBytes})`;
  const everyOutput = `(select json_object_agg(s.step_id, s.output_bytes order by s.position) from run_step s
    where s.run_id = r.id and s.status = 'completed' and s.output_bytes is not null)`;
  return `r.id, r.automation_id as "automationId", a.name as "automationName", r.status,
  case when ${inputBytes} <= ${maxBytes} then r.input end as input,
  case when ${inputBytes} > ${maxBytes} then ${inputBytes} end as "inputApart",
  case when ${variablesBytes} <= ${maxBytes} then r.variables end as variables,
  case when ${variablesBytes} > ${maxBytes} then ${variablesBytes} end as "variablesApart",
  case when r.output is null then null when ${isAbove} then '{"result": null, "steps": {}}'::json else r.output end as output,
  case when ${isAbove} then ${everyOutput} else r.outputs_apart::json end as "outputsApart",
  case when ${isAbove} or r.outputs_apart ? r.result_step then r.result_step end as "resultApart",
  r.total_steps = 0 as "returnsInput",
  r.error, r.tokens_used as "tokensUsed", r.duration_ms as "durationMs", r.current_step as "currentStep",
  r.finished_steps as "finishedSteps", r.total_steps as "totalSteps", r.created_at as "createdAt",
  r.started_at as "startedAt", r.finished_at as "finishedAt", r.trigger_type as "triggerType", r.triggered_by as "triggerFacts",
  (select version from definition where id = r.definition_id) as version,
  r.tags, r.metadata, r.parent_run_id as "parentRunId", r.root_run_id as "rootRunId", r.batch_id as "batchId", r.is_test as "isTest", r.priority,
  r.scheduled_for as "scheduledFor", r.expires_at as "expiresAt",
  case when r.status = 'queued' then coalesce(r.queued_for,
    (select 'plan' from calling_run c where c.run_id = r.id and c.leased_until is null)) end as "queuedFor",
  ${waitingForSql} as "waitingFor"`;
}

export const detailColumns = runColumns(shownBytes, 'each');
export const listColumns = runColumns(listedBytes, 'together');

export const withProgress = <Row extends RunRow>({ finishedSteps, totalSteps, ...row }: Row) => ({
  ...row,
  progress: progressOf(row.status, finishedSteps, totalSteps),
});
