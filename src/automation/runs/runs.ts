import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type Declaration, typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Files } from '../../storage/index.ts';
import { runIds } from '../core/ids.ts';
import {
  type AskedModel,
  progressOf,
  type RunError,
  type RunStatus,
  runStates,
  type StepCounts,
  type StepStatus,
} from '../core/run-status.ts';
import type { QueueReason, TriggerFacts, TriggerType } from '../core/starts.ts';
import type { Warning } from '../core/template.ts';
import type { WaitType } from '../core/waits.ts';
import { runNotFound } from '../errors.ts';
import { readOutputFile, shownBytes } from '../steps/step-outputs.ts';

/** What an open step of a run waits for. */
export interface WaitingFor {
  type: Exclude<WaitType, 'job'>;
  stepId: string;
  /** The dotted path of a step within others; null for one of the run's own list. */
  path: string | null;
  since: string;
  /** When the wait ends by itself; null when it does not. */
  until: string | null;
  approvalId: string | null;
  runId: string | null;
}

/** Waits of one run that an answer shows; the earliest steps come first. */
export const maxShownWaits = 10;

const asJson = `json_build_object('type', type, 'stepId', step_id, 'path', case when path <> step_id then path end,
  'since', since, 'until', until, 'approvalId', case when type = 'approval' then subject_id end,
  'runId', case when type = 'workflow' then subject_id end)`;

// A run that waits has rows of its waits. The one whose slot was lent to its child, and is not free yet, has an outcome already.
const waits = `(
  select json_agg(${asJson})
    from (select case when w.state = 'open' then w.type else 'slot' end as type, w.step_id, w.path, w.since, w.subject_id,
                 case when w.state = 'open' then w.until end as until
            from run_wait w
           where w.run_id = r.id and w.type <> 'job' and (w.state = 'open' or r.slot = 'returning' and w.outcome is not null)
           order by w.path limit ${maxShownWaits}) shown)`;

// Steps of a flow are recorded where they wait for slots; the step of another run is the next one of its list.
const noEnd = `'until', null, 'approvalId', null, 'runId', null`;
const slots = `(
  select coalesce(
    (select json_agg(json_build_object('type', 'slot', 'stepId', s.step ->> 'stepId',
              'path', case when s.step ->> 'path' <> s.step ->> 'stepId' then s.step ->> 'path' end, 'since', c.since, ${noEnd}) order by s.at)
       from json_array_elements(c.steps) with ordinality as s (step, at)),
    (select json_build_array(json_build_object('type', 'slot', 'stepId', d.steps -> r.finished_steps ->> 'id', 'path', null, 'since', c.since, ${noEnd}))
       from definition d where d.id = r.definition_id and d.steps -> r.finished_steps is not null))
    from calling_run c where c.run_id = r.id and c.leased_until is null)`;

/**
 * SQL: the waits of a run; null while any part of it is executed, or before it has begun. Rows are read only for
 * waiting runs.
 */
const waitingForSql = `case when r.status = 'running'
  then case when r.waiting_since is not null then ${waits} else ${slots} end end`;

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

type RunRow = Omit<RunSummary, 'progress'> & { finishedSteps: number; totalSteps: number };

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
/** The same in lists. */
const listedBytes = 16 * 1024;
/** Outputs of a run that are included in its detail, in bytes: the smallest ones of as many in all. */
const detailBytes = 2 * 1024 * 1024;

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

const detailColumns = runColumns(shownBytes, 'each');
export const listColumns = runColumns(listedBytes, 'together');

export const withProgress = <Row extends RunRow>({ finishedSteps, totalSteps, ...row }: Row) => ({
  ...row,
  progress: progressOf(row.status, finishedSteps, totalSteps),
});

/** A call of a tool. Null replaces values that are too large to be included, and unknown results. */
interface StepToolCall {
  name: string;
  args: Record<string, unknown> | null;
  result: string | null;
}

export interface StepResult {
  stepId: string;
  /** The dotted path of a step within others; null for one of the run's own list. */
  path: string | null;
  /** How the branches or items of a container ended, or their total while it runs; null for other steps. */
  counts: StepCounts | null;
  name: string | null;
  status: StepStatus;
  output: unknown;
  /** Bytes of an output that is too large to be included: null is in its place. */
  outputApart: number | null;
  error: RunError | null;
  attempts: number;
  provider: string | null;
  model: string | null;
  /** The models asked in the last attempt, in order; null unless a fallback was asked. */
  models: AskedModel[] | null;
  tokensUsed: number | null;
  durationMs: number | null;
  /** Calls of tools in order; null when there were none. */
  toolCalls: StepToolCall[] | null;
  /** At most 20. */
  warnings: Warning[];
  /** How many there were. */
  warningsTotal: number;
  startedAt: Date;
  finishedAt: Date | null;
}

export type RunDetail = RunSummary & {
  /** Every step that was reached; once the run has ended, all its steps. */
  stepResults: StepResult[];
};

/** Results in the detail of a run: all of its own list, and then the first within others. */
const maxShownSteps = 200;

const isApart = `(coalesce(s.output_bytes, 0) > ${shownBytes} or s.bytes_up_to > ${detailBytes} or coalesce(r.outputs_apart ? s.step_id, false))`;

/** SQL: the members of a `StepResult` but its calls of tools, of a row s of `run_step` with `bytes_up_to`, of the run r. */
export const stepMembers = `'stepId', s.step_id, 'path', case when s.path <> s.step_id then s.path end, 'counts', s.counts,
               'name', s.name, 'status', s.status,
               'output', case when not ${isApart} then s.output end,
               'outputApart', case when ${isApart} then s.output_bytes end, 'error', s.error,
               'attempts', greatest(s.attempts - s.rounds, least(s.attempts, 1)), 'provider', s.provider, 'model', s.model,
               'models', s.models,
               'tokensUsed', s.tokens_used, 'durationMs', s.duration_ms, 'warnings', s.warnings,
               'warningsTotal', coalesce(s.warnings_total, 0), 'startedAt', s.started_at,
               'finishedAt', s.finished_at`;

// Arguments and results up to a total size. The shown part of a run is bounded, however many calls its steps made.
export const shownCalls = `
  select position, json_agg(json_build_object('name', name, 'args', case when is_shown then args::json end,
                     'result', case when is_shown then result end) order by round, call) as calls
    from (select *, sum(coalesce(octet_length(args), 0) + coalesce(octet_length(result), 0))
                      over (order by position, round, call) <= ${shownBytes} as is_shown
            from run_step_call where run_id = r.id) as listed
   group by position`;

const findDetail = statement({
  name: 'run.detail',
  parameters: { runId: 'uuid' },
  row: {
    ...runRow,
    unreached: typed<Pick<StepResult, 'stepId' | 'name'>[] | null>('json?'),
    stepResults: typed<StepResult[]>('json'),
  },
  text: `select ${detailColumns},
     case when r.status in (${runStates.sql('failed', 'cancelled')})
            or (r.status in (${runStates.sql('completed')}) and exists (select from run_step s where s.run_id = r.id and s.path is not null)) then
       (select json_agg(json_build_object('stepId', d.step ->> 'id', 'name', d.step ->> 'name') order by d.at)
          from definition, json_array_elements(definition.steps) with ordinality as d (step, at)
         where definition.id = r.definition_id
           and not exists (select from run_step s where s.run_id = r.id
                              and case when s.path is null then s.position = d.at - 1 else s.path = d.step ->> 'id' end)) end as unreached,
     coalesce(
     (select json_agg(json_build_object(${stepMembers}, 'toolCalls', c.calls) order by s.position)
        from (select *, sum(coalesce(output_bytes, 0)) over (order by coalesce(output_bytes, 0), position) as bytes_up_to,
                     row_number() over (order by coalesce(path <> step_id, false), position) as place
                from run_step where run_id = r.id) s left join (${shownCalls}) c on c.position = s.position
       where s.place <= ${maxShownSteps}), '[]') as "stepResults"
   ${live} and r.id = :runId`,
});

/** In JSON, times are strings. */
export const withDates = (step: StepResult): StepResult => ({
  ...step,
  startedAt: new Date(step.startedAt),
  finishedAt: step.finishedAt && new Date(step.finishedAt),
});

/** The result of a step that an ended run never reached. */
export const skipped = (
  step: Pick<StepResult, 'stepId' | 'name'>,
  { createdAt, finishedAt }: Pick<RunRow, 'createdAt' | 'finishedAt'>,
): StepResult => ({
  ...step,
  path: null,
  counts: null,
  status: 'skipped',
  output: null,
  outputApart: null,
  error: null,
  provider: null,
  model: null,
  models: null,
  tokensUsed: null,
  durationMs: null,
  toolCalls: null,
  attempts: 0,
  warnings: [],
  warningsTotal: 0,
  startedAt: finishedAt ?? createdAt,
  finishedAt,
});

const findOutput = statement({
  name: 'run.output',
  parameters: { runId: 'uuid', stepId: 'text', path: 'text' },
  row: { output: 'text?', file: 'text?', found: 'boolean' },
  text: `select s.output::text as output, s.output_file as file, s.step_id is not null as found
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
     left join run_step s on s.run_id = r.id and s.step_id = :stepId and (s.path is null or s.path = :path)
                          and (s.status = 'completed' or s.output_bytes is not null)
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

/**
 * One step's output as JSON, as it is stored: it may have megabytes, so it is not parsed. `id` in either form.
 * @param path the dotted path of a step within others
 * @throws AppError run_not_found, not_found when the step has no output; StorageFailure
 */
export async function getOutput(
  files: Files,
  scope: Scope,
  id: string,
  stepId: string,
  path = stepId,
): Promise<string | Buffer> {
  const uuid = runIds.parse(id);
  const row = uuid && (await scope.one(findOutput, { runId: uuid, stepId, path }));
  if (!row) throw runNotFound(id);
  if (!row.found) throw new AppError('not_found', 'The run has no output of a step of this id.');
  return row.file === null ? (row.output ?? 'null') : readOutputFile(files, row.file);
}

const findInput = statement({
  name: 'run.input',
  parameters: { runId: 'uuid' },
  row: { input: 'json', variables: typed<Record<string, unknown>>('json') },
  text: `select r.input, r.variables ${live} and r.id = :runId`,
});

interface RunInput {
  input: unknown;
  variables: Record<string, unknown>;
}

/** The input of a run, whatever its size. `id` in either form. @throws AppError run_not_found */
export async function getInput(scope: Scope, id: string): Promise<RunInput> {
  const uuid = runIds.parse(id);
  const found = uuid && (await scope.one(findInput, { runId: uuid }));
  if (!found) throw runNotFound(id);
  return found;
}

/**
 * The output of a run whose outputs were not read with it, because they have too many bytes: the outputs that its steps
 * show.
 */
function withShownOutputs(run: RunRow, steps: readonly StepResult[]): RunRow {
  const { output, outputsApart, resultApart } = run;
  if (!output || !outputsApart || steps.length === 0) return run;
  const shown = steps.filter(({ status, outputApart }) => status === 'completed' && outputApart === null);
  const missing = shown.filter(({ stepId, path }) => path === null && !Object.hasOwn(output.steps, stepId));
  if (missing.length === 0) return run;
  const outputs = Object.fromEntries(missing.map((step) => [step.stepId, step.output]));
  const isApart = ([stepId]: [string, number]) => !Object.hasOwn(outputs, stepId);
  const result = missing.find(({ stepId }) => stepId === resultApart);
  return {
    ...run,
    output: { result: result ? result.output : output.result, steps: { ...output.steps, ...outputs } },
    outputsApart: Object.fromEntries(Object.entries(outputsApart).filter(isApart)),
    resultApart: result ? null : resultApart,
  };
}

/** A run. Values of more than 256 KiB are not included. `id` in either form. @throws AppError run_not_found */
export async function getRun(scope: Scope, id: string): Promise<RunDetail> {
  const uuid = runIds.parse(id);
  const found = uuid && (await scope.one(findDetail, { runId: uuid }));
  if (!found) throw runNotFound(id);
  const { unreached, ...row } = found;
  const stepResults = [...found.stepResults.map(withDates), ...(unreached ?? []).map((step) => skipped(step, found))];
  return withProgress({ ...withShownOutputs(row, stepResults), stepResults });
}
