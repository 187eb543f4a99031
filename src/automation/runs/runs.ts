import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Files } from '../../storage/index.ts';
import { runIds } from '../core/ids.ts';
import { type AskedModel, type RunError, runStates, type StepCounts, type StepStatus } from '../core/run-status.ts';
import type { Warning } from '../core/template.ts';
import { runNotFound } from '../errors.ts';
import { readOutputFile } from '../steps/step-outputs.ts';
import {
  detailBytes,
  detailColumns,
  live,
  type RunRow,
  type RunSummary,
  runRow,
  shownBytes,
  withProgress,
} from './run-columns.ts';

/** A call of a tool. Null replaces values that are too large to be included, and unknown results. */
export interface StepToolCall {
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

export interface RunInput {
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
