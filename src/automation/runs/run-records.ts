import { clock } from '../../platform/clock.ts';
import { recordPatiently } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type Files, type Stored, type StoredFile, storedBytesSql } from '../../storage/index.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { countTokens } from '../../tenancy/index.ts';
import { wakeDeliveries } from '../../webhooks/index.ts';
import {
  type AskedModel,
  doneStep,
  openRun,
  type RunError,
  type RunStatus,
  type StepStatus,
} from '../core/run-status.ts';
import type { LinearStep } from '../core/step-types.ts';
import { type ModelChoice, nextStep, type Step } from '../core/steps.ts';
import type { Warning } from '../core/template.ts';
import type { FoundOutput } from '../steps/step-outputs.ts';
import { releaseAtEndSql } from './active-run-limiter.ts';
import {
  changedRun,
  codeOf,
  failedRun,
  type ModelTokens,
  modelTokensSql,
  publishRunEventsSql,
  usedTokens,
  wasQueued,
} from './events-and-use.ts';

/** The recorded result of one step. */
export interface Recorded {
  position: number;
  stepId: string;
  status: StepStatus;
  /** Only outputs as small as a condition's; larger ones are read when a step uses them. */
  output: unknown;
  outputBytes: number;
}

/** What continuing a run needs, without the outputs of its steps. */
export interface RunWork extends Stored {
  status: RunStatus;
  concurrencyGroup: string | null;
  maxDurationSeconds: number | null;
  isTest: boolean;
  input: unknown;
  variables: Record<string, unknown>;
  steps: LinearStep[];
  byDefault: ModelChoice;
  /** The first position: a retry need not start at its first step. */
  firstPosition: number;
  /** By position. */
  recorded: Recorded[];
}

/** The largest output that is loaded with the run, in bytes: `false`. */
const withWorkBytes = 5;

const findWork = statement({
  name: 'run.work',
  parameters: { runId: 'uuid' },
  row: {
    status: typed<RunStatus>('text'),
    concurrencyGroup: 'uuid?',
    maxDurationSeconds: 'int?',
    isTest: 'boolean',
    input: 'json?',
    variables: typed<Record<string, unknown>>('json'),
    firstPosition: 'int',
    steps: typed<LinearStep[]>('json'),
    byDefault: typed<ModelChoice>('json'),
    plan: typed<PlanName>('text'),
    storedBytes: 'float8',
    recorded: typed<Recorded[]>('json'),
  },
  text: `select r.status, r.concurrency_group as "concurrencyGroup", r.max_duration_seconds as "maxDurationSeconds", r.is_test as "isTest", r.input, r.variables, r.first_position as "firstPosition", d.steps,
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault",
          o.plan, ${storedBytesSql} as "storedBytes",
          coalesce((select json_agg(json_build_object('position', s.position, 'stepId', s.step_id, 'status', s.status,
                      'output', case when s.output_bytes <= ${withWorkBytes} then s.output end,
                      'outputBytes', coalesce(s.output_bytes, 0)) order by s.position)
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

/** Undefined when the run was deleted. */
export function loadRunWork(scope: Scope, runId: string): Promise<RunWork | undefined> {
  return scope.one(findWork, { runId });
}

/** The position of the current step; the number of steps after the last one. */
export function positionOf({ steps, firstPosition, recorded }: RunWork): number {
  const last = recorded.findLast(({ position, status }) => status === 'completed' && position >= firstPosition);
  return last ? nextStep(steps, last.position, last.output) : firstPosition;
}

const findOutputs = statement({
  name: 'run.outputs',
  parameters: { runId: 'uuid', stepIds: 'text[]' },
  row: { stepId: 'text', output: 'json?', file: 'text?', bytes: 'int' },
  text: `select step_id as "stepId", output, output_file as file, coalesce(output_bytes, 0) as bytes from run_step
    where organization_id = :organizationId and environment = :environment and run_id = :runId and step_id = any(:stepIds) and status = 'completed'`,
});

/** The outputs of these steps, as their rows have them. */
export async function readOutputs(scope: Scope, runId: string, ids: readonly string[]): Promise<FoundOutput[]> {
  const rows = await scope.rows(findOutputs, { runId, stepIds: ids });
  return rows.map(({ stepId, ...kept }) => ({ ...kept, key: stepId }));
}

/** Bytes of the outputs of the steps that have one. */
export function sizesOf(recorded: readonly Recorded[]): Map<string, number> {
  const finished = recorded.filter(({ status }) => status === 'completed');
  return new Map(finished.map(({ stepId, outputBytes }) => [stepId, outputBytes]));
}

export interface StepFacts {
  position: number;
  step: Step;
  /** The first model of the step; absent for steps without one. */
  provider?: string;
  model?: string;
  /** The number that `beginStep` returned; absent for steps that have no beginning before their end. */
  attempt?: number;
  startedAt: Date;
}

interface BegunStep {
  /** The number of this attempt. */
  attempts: number;
  /** How many of them were rounds of tools. */
  rounds: number;
  /** Since the first one began. */
  ageMs: number;
}

const beginStatement = statement({
  name: 'run.begin_step',
  parameters: {
    runId: 'uuid',
    position: 'int',
    stepId: 'text',
    provider: 'text?',
    model: 'text?',
    startedAt: 'timestamptz',
    name: 'text?',
  },
  row: { attempts: 'int', rounds: 'smallint', ageMs: 'float8' },
  text: `with moved as (
     update run set status = 'running', started_at = coalesce(started_at, :startedAt), current_step = :stepId
      where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun})
      returning ${changedRun(wasQueued)}),
   ${publishRunEventsSql('moved')},
   begun as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, warnings,
                           provider, model, started_at)
     select id, :position, :organizationId, :environment, :stepId, :name, 'running', 1, '[]', :provider, :model, :startedAt
       from moved
     on conflict (run_id, position) do update set attempts = run_step.attempts + 1
      where run_step.status = 'running'
     returning attempts, rounds, started_at)
   select attempts, rounds, extract(epoch from :startedAt - started_at)::float8 * 1000 as "ageMs", ${wakeDeliveries} from begun`,
});

/**
 * Records that a step is being executed, before a call that takes time.
 * @returns undefined when the run or the step is over.
 */
export async function beginStep(scope: Scope, runId: string, facts: StepFacts): Promise<BegunStep | undefined> {
  const { position, step, provider, model, startedAt } = facts;
  const given = { runId, position, stepId: step.id, provider: provider ?? null, model: model ?? null, startedAt };
  return scope.one(beginStatement, { ...given, name: step.name ?? null });
}

/** An output as it is recorded: as JSON, or where it is large the file that has it. */
export type RecordedOutput = { bytes: number } & ({ json: string } | { file: StoredFile });

/** The result of a step, or that it was skipped. */
export type StepRecord = StepFacts & {
  warnings: Warning[];
  warningsTotal: number;
  models?: AskedModel[];
  finishedAt: Date;
} & (
    | { status: 'completed'; output: RecordedOutput; tokensUsed?: number }
    | { status: 'failed'; error: RunError; tokensUsed?: number }
    | { status: 'skipped' }
  );

/** The end of the run. */
export type RunEnd = { status: 'completed' } | { status: 'failed'; error: RunError };

/** Bytes of all outputs of a run that its row holds itself; past that, outputs over the second figure stay with their steps. */
const inRow = { all: 256 * 1024, each: 2 * 1024 };

// One statement records the steps and their run, deletes the outbox entry, releases its slot and notifies waiters. A
// step that has already ended changes nothing, so that a repeated statement counts tokens once. The tokens of rounds of
// tools are already in its row.
const recordStatement = statement({
  name: 'run.record_steps',
  parameters: {
    runId: 'uuid',
    steps: 'json',
    status: typed<RunStatus>('text'),
    error: 'json?',
    startedAt: 'timestamptz',
    currentStep: 'text?',
    deciding: 'int[]',
    finishedAt: 'timestamptz',
    notify: 'text?',
  },
  row: {
    attempts: 'int?',
    waiting: 'int?',
    files: 'text[]?',
    automationId: 'uuid',
    keyId: 'uuid?',
    used: typed<ModelTokens[] | null>('json?'),
  },
  counts: ({ automationId, keyId, used }, { status, error }) => [
    ...usedTokens({ automationId, keyId }, used ?? []),
    ...(status === 'failed' && error !== null ? failedRun(automationId, codeOf(error)) : []),
  ],
  text: `with given as (
     select * from json_to_recordset(:steps) as step (position int, step_id text, name text, status text,
       attempts int, output json, output_bytes int, output_file text, error json, warnings jsonb, warnings_total int, provider text, model text, models json,
       tokens_used int, started_at timestamptz, finished_at timestamptz, duration_ms int, decides boolean)),
   recorded as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, output,
                           output_bytes, output_file, error, warnings, warnings_total, provider, model, models, tokens_used,
                           started_at, finished_at, duration_ms)
     select r.id, g.position, :organizationId, :environment, g.step_id, g.name, g.status, g.attempts, g.output, g.output_bytes,
            g.output_file, g.error, g.warnings, g.warnings_total, g.provider, g.model, g.models, g.tokens_used, g.started_at, g.finished_at, g.duration_ms
       from run r cross join given g
      where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId and r.status in (${openRun})
     on conflict (run_id, position) do update
        set status = excluded.status, output = excluded.output, output_bytes = excluded.output_bytes,
            output_file = excluded.output_file, error = excluded.error, warnings = excluded.warnings,
            warnings_total = excluded.warnings_total, provider = excluded.provider, model = excluded.model,
            models = excluded.models,
            tokens_used = case when run_step.tokens_used is null then excluded.tokens_used
                               else run_step.tokens_used + coalesce(excluded.tokens_used, 0) end,
            finished_at = excluded.finished_at,
            duration_ms = round(extract(epoch from excluded.finished_at - run_step.started_at) * 1000)
      where run_step.status = 'running'
     returning position, status, attempts, output_file),
   totals as (
     select count(*) as rows, max(attempts) as attempts, count(*) filter (where status in (${doneStep})) as finished,
            (select coalesce(sum(tokens_used), 0)::int from given
              where position in (select position from recorded)) as tokens from recorded),
   outputs as (
     select position, step_id, output, output_bytes, decides from given where status = 'completed' and :status = 'completed'
     union all
     select s.position, s.step_id, s.output, coalesce(s.output_bytes, 0), s.position = any(:deciding) from run_step s
      where s.run_id = :runId and s.organization_id = :organizationId and s.environment = :environment and s.status = 'completed' and :status = 'completed'
        and s.position not in (select position from given)),
   held as (
     select *, output_bytes > ${inRow.each} and sum(output_bytes) over () > ${inRow.all} as apart from outputs),
   result as (select step_id, output, apart from held where not decides order by position desc limit 1),
   moved as (
     update run set status = :status, started_at = coalesce(started_at, :startedAt),
            current_step = coalesce(:currentStep, current_step),
            finished_steps = finished_steps + totals.finished, tokens_used = coalesce(tokens_used, 0) + totals.tokens,
            output = case when :status = 'completed' then json_build_object(
              'result', case when total_steps = 0 then case when coalesce(input_bytes, 0) <= ${inRow.all} then coalesce(input, 'null') end
                             else coalesce((select case when not apart then output end from result), 'null') end,
              'steps', (select coalesce(json_object_agg(step_id, case when not apart then output end order by position), '{}') from held)) end,
            output_bytes = case when total_steps = 0 then coalesce(input_bytes, 0)
              else coalesce((select sum(output_bytes) from held where not apart), 0) end,
            outputs_apart = (select jsonb_object_agg(step_id, output_bytes) from held where apart),
            result_step = (select step_id from result),
            error = :error, error_code = :error ->> 'code',
            finished_at = case when :status <> 'running' then :finishedAt end,
            duration_ms = case when :status <> 'running'
              then round(extract(epoch from :finishedAt - coalesce(started_at, :startedAt)) * 1000) end
       from totals
      where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun})
        and (totals.rows > 0 or json_array_length(:steps) = 0)
     returning ${changedRun(wasQueued)}, run.key_id, totals.tokens as tokens, totals.attempts as attempts),
   counted as (${countTokens('tokens', 'moved')}),
   started as (
     delete from outbox where kind = 'run.start' and subject_id in (select id from moved where status <> 'running')),
   ${releaseAtEndSql('moved')},
   ${publishRunEventsSql('moved')}
   select attempts, (select waiting from released_total) as waiting,
          (select array_agg(output_file) from recorded where output_file is not null) as files,
          case when :notify is not null and status <> 'running' then pg_notify(:notify, id::text) end,
          automation_id as "automationId", key_id as "keyId", ${modelTokensSql} as used,
          ${wakeDeliveries} from moved`,
});

/** As JSON. */
function rowOf(record: StepRecord): string {
  const {
    position,
    step,
    provider,
    model,
    models,
    attempt: _,
    startedAt,
    finishedAt,
    warnings,
    warningsTotal,
    ...end
  } = record;
  const row = JSON.stringify({
    position,
    step_id: step.id,
    name: step.name,
    provider,
    model,
    models,
    status: end.status,
    warnings,
    warnings_total: warningsTotal,
    attempts: end.status === 'skipped' ? 0 : 1,
    decides: step.type === 'condition',
    started_at: startedAt,
    finished_at: finishedAt,
    duration_ms: finishedAt.getTime() - startedAt.getTime(),
    ...(end.status === 'completed' && { output_bytes: end.output.bytes }),
    ...(end.status === 'completed' && 'file' in end.output && { output_file: end.output.file.name }),
    ...(end.status === 'failed' && { error: end.error }),
    ...(end.status !== 'skipped' && { tokens_used: end.tokensUsed }),
  });
  return end.status === 'completed' && 'json' in end.output ? `${row.slice(0, -1)},"output":${end.output.json}}` : row;
}

interface RunRecord {
  runId: string;
  /** The pinned definition's steps. */
  steps: readonly Step[];
  /** By position. */
  records: readonly StepRecord[];
  /** Absent while steps remain. */
  end?: RunEnd | undefined;
  /** Channel of another process that waits for the run, notified in the same transaction. */
  notify: string | null;
}

/** The recorded results. */
interface RecordOutcome {
  /** The largest number of attempts of these steps. */
  attempts: number | null;
  /** How many runs wait for the slot that this one released at its end. */
  waiting: number | null;
}

function record(scope: Scope, { runId, steps, records, end, notify }: RunRecord) {
  const now = clock.date();
  const deciding = steps.flatMap(({ type }, position) => (type === 'condition' ? [position] : []));
  const performed = records.findLast(({ status }) => status !== 'skipped');
  return scope.one(recordStatement, {
    runId,
    steps: `[${records.map(rowOf).join(',')}]`,
    status: end?.status ?? 'running',
    error: end?.status === 'failed' ? JSON.stringify(end.error) : null,
    startedAt: records[0]?.startedAt ?? now,
    currentStep: performed?.step.id ?? null,
    deciding,
    finishedAt: performed?.finishedAt ?? now,
    notify,
  });
}

// Until the commit nothing ends the run: its steps are recorded with their files, or neither.
const holdOpen = statement({
  name: 'run.hold_open',
  parameters: { runId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from run
    where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun}) for update`,
});

const findEnded = statement({
  name: 'run.find_ended_step',
  parameters: { runId: 'uuid', position: 'int' },
  row: { position: 'int' },
  text: `select position from run_step
    where organization_id = :organizationId and environment = :environment and run_id = :runId and position = :position
      and status <> 'running'`,
});

/**
 * Records the results of steps and, after the last one, the end of their run. The files of large outputs are recorded
 * in the same transaction; files of steps that another attempt recorded before are not needed, and the sweep removes
 * them. An interruption of the database of some seconds is waited out: a model would be called again for the answer.
 * @returns undefined when the run or the steps had ended before, or do not exist; also when they were recorded by this, and
 *   the answer of the database was lost
 */
export function recordSteps(files: Files, scope: Scope, given: RunRecord): Promise<RecordOutcome | undefined> {
  const { runId } = given;
  const position = given.records[0]?.position;
  return recordPatiently(async (isRepeated) => {
    if (isRepeated && position !== undefined && (await scope.one(findEnded, { runId, position }))) return undefined;
    return recordOnce(files, scope, given);
  });
}

async function recordOnce(files: Files, scope: Scope, given: RunRecord): Promise<RecordOutcome | undefined> {
  const stored = given.records.flatMap((one) =>
    one.status === 'completed' && 'file' in one.output ? [one.output.file] : [],
  );
  if (stored.length === 0) return record(scope, given);
  return scope.transaction(async (tx) => {
    if (!(await tx.one(holdOpen, { runId: given.runId }))) return undefined;
    // Before the record, which locks what other runs of the organization wait for.
    for (const file of stored) await files.record(tx, file);
    const recorded = await record(tx, given);
    const unused = stored.map(({ name }) => name).filter((name) => !recorded?.files?.includes(name));
    if (unused.length > 0) await files.remove(tx, unused);
    return recorded;
  });
}
