import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { countTokens } from '../../tenancy/index.ts';
import { wakeDeliveries } from '../../webhooks/index.ts';
import { openRun, openStep, type RunStatus } from '../core/run-status.ts';
import { releaseAtEndSql } from '../runs/active-run-limiter.ts';
import {
  changedRun,
  codeOf,
  failedRun,
  type ModelTokens,
  modelTokensSql,
  publishRunEventsSql,
  usedTokens,
  wasQueued,
} from '../runs/events-and-use.ts';
import { closeWaitsSql } from './waits.ts';

/** A step that a statement began: how often, how many of these attempts were rounds of tools, and since when. */
export interface BegunRow {
  position: number;
  attempts: number;
  rounds: number;
  ageMs: number;
}

/** Bytes of all outputs of a run that its row holds itself; past that, outputs over the second figure stay with their steps. */
const inRow = { all: 256 * 1024, each: 2 * 1024 };

const written = `position, path, step_id, name, status, attempts, output, output_bytes, output_file, error, warnings, warnings_total,
  provider, model, models, tokens_used, counts, key_run_id, started_at, finished_at, duration_ms`;

const givenColumns = written
  .split(',')
  .map((name) => `g.${name.trim()}`)
  .join(', ');

// One statement, because each run of a flow executes it for each of its batches: it begins and ends steps, and moves
// the run. A container that continues in a retry has no attempts before it begins in the new run.
export const recordFlow = statement({
  name: 'flow.record',
  parameters: {
    runId: 'uuid',
    steps: 'json',
    fence: 'int',
    status: typed<RunStatus>('text'),
    error: 'json?',
    currentStep: 'text?',
    // Leaves.
    finished: 'int',
    known: 'int',
    resultPath: 'text?',
    // A channel.
    notify: 'text?',
    // Whether all that is open waits.
    isWaiting: 'boolean',
  },
  row: {
    // How many runs wait for the slot that this one released at its end.
    waiting: 'int?',
    files: 'text[]?',
    begun: typed<BegunRow[] | null>('json?'),
    automationId: 'uuid',
    keyId: 'uuid?',
    isTest: 'boolean',
    used: typed<ModelTokens[] | null>('json?'),
  },
  counts({ automationId, keyId, isTest, used }, { status, error }) {
    if (isTest) return [];
    const failed = status === 'failed' && error !== null ? failedRun(automationId, codeOf(error)) : [];
    return [...usedTokens({ automationId, keyId }, used ?? []), ...failed];
  },
  text: `with mine as (
     select id from run
      where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun}) and fence = :fence for update),
   given as (
     select * from json_to_recordset(:steps) as step (position int, path text, step_id text, name text, status text,
       attempts int, output json, output_bytes int, output_file text, error json, warnings jsonb, warnings_total int,
       provider text, model text, models json, tokens_used int, counts json, key_run_id uuid, started_at timestamptz,
       finished_at timestamptz, duration_ms int)),
   recorded as (
     insert into run_step (run_id, organization_id, environment, ${written})
     select mine.id, :organizationId, :environment, ${givenColumns} from mine cross join given g
     on conflict (run_id, position) do update
        set status = excluded.status, output = excluded.output, output_bytes = excluded.output_bytes,
            output_file = excluded.output_file, error = excluded.error,
            warnings = case run_step.status when 'waiting' then run_step.warnings || excluded.warnings else excluded.warnings end,
            warnings_total = case when run_step.status = 'waiting' and run_step.warnings_total is not null
              then run_step.warnings_total + coalesce(excluded.warnings_total, 0) else excluded.warnings_total end,
            provider = coalesce(excluded.provider, run_step.provider),
            model = coalesce(excluded.model, run_step.model), models = excluded.models,
            counts = coalesce(excluded.counts, run_step.counts),
            started_at = case when run_step.attempts = 0 then excluded.started_at else run_step.started_at end,
            attempts = run_step.attempts + case when excluded.status = 'running' or run_step.attempts = 0 then 1 else 0 end,
            rounds = run_step.rounds + case when excluded.status = 'waiting' and run_step.status = 'running' then 1 else 0 end,
            tokens_used = case when run_step.tokens_used is null then excluded.tokens_used
                               else run_step.tokens_used + coalesce(excluded.tokens_used, 0) end,
            finished_at = excluded.finished_at,
            duration_ms = round(extract(epoch from excluded.finished_at
              - case when run_step.attempts = 0 then excluded.started_at else run_step.started_at end) * 1000)
      where run_step.status in (${openStep})
     returning position, path, status, attempts, rounds, started_at, output_file),
   totals as (
     select coalesce(sum(tokens_used), 0)::int as tokens from given where position in (select position from recorded)),
   outputs as (
     select position, path, output, output_bytes from given
      where :status <> 'running' and path not like '%.%' and output_bytes is not null
     union all
     select s.position, s.path, s.output, s.output_bytes from run_step s
      where :status <> 'running' and s.run_id = :runId and s.organization_id = :organizationId and s.environment = :environment and s.path not like '%.%'
        and s.output_bytes is not null and s.position not in (select position from given)),
   kept as (
     select *, output_bytes > ${inRow.each} and sum(output_bytes) over () > ${inRow.all} as apart from outputs),
   result as (select path, output, apart from kept where path = :resultPath),
   used as (
     update run_wait set state = 'resolved', outcome = null, resolved_at = coalesce(resolved_at, atelier_now())
      where run_id in (select id from mine) and (outcome is not null or type = 'slot')
        and path in (select path from given where finished_at is not null)),
   moved as (
     update run set status = :status, fence = fence + 1, started_at = coalesce(started_at, atelier_now()),
            current_step = coalesce(:currentStep, current_step), finished_steps = :finished, total_steps = :known,
            tokens_used = coalesce(tokens_used, 0) + totals.tokens,
            waited_ms = case when waiting_since is not null and not :isWaiting
              then coalesce(waited_ms, 0) + round(extract(epoch from atelier_now() - waiting_since) * 1000) else waited_ms end,
            waiting_since = case when :isWaiting then coalesce(waiting_since, atelier_now()) end,
            output = case when :status <> 'running' then json_build_object(
              'result', coalesce((select case when not apart then output end from result),
                case when total_steps = 0 and coalesce(input_bytes, 0) <= ${inRow.all} then input end, 'null'),
              'steps', (select coalesce(json_object_agg(path, case when not apart then output end order by position), '{}') from kept)) end,
            output_bytes = case when total_steps = 0 then coalesce(input_bytes, 0)
              else coalesce((select sum(output_bytes) from kept where not apart), 0) end,
            outputs_apart = (select jsonb_object_agg(path, output_bytes) from kept where apart),
            result_step = :resultPath,
            error = :error, error_code = :error ->> 'code',
            finished_at = case when :status <> 'running' then atelier_now() end,
            duration_ms = case when :status <> 'running'
              then round(extract(epoch from atelier_now() - coalesce(started_at, atelier_now())) * 1000) end
       from totals
      where organization_id = :organizationId and environment = :environment and id in (select id from mine) and status in (${openRun})
     returning ${changedRun(wasQueued)}, run.key_id, totals.tokens as tokens),
   over as (select id from moved where status <> 'running'),
   stopped as (
     update run_step set status = 'cancelled', finished_at = atelier_now()
      where run_id in (select id from over) and status in (${openStep}) and position not in (select position from given)),
   ${closeWaitsSql('over')},
   counted as (${countTokens('tokens', '(select tokens from moved where not is_test) spent')}),
   started as (delete from outbox where kind = 'run.start' and subject_id in (select id from over)),
   ${releaseAtEndSql('moved')},
   ${publishRunEventsSql('moved')}
   select (select waiting from released_total) as waiting,
          (select array_agg(output_file) from recorded where output_file is not null) as files,
          (select json_agg(json_build_object('position', position, 'attempts', attempts, 'rounds', rounds,
                    'ageMs', extract(epoch from atelier_now() - started_at) * 1000))
             from recorded where status = 'running') as begun,
          case when :notify is not null and status <> 'running' then pg_notify(:notify, id::text) end,
          automation_id as "automationId", key_id as "keyId", is_test as "isTest", ${modelTokensSql} as used,
          ${wakeDeliveries} from moved`,
});

export type RecordedRow = RowOf<typeof recordFlow>;
