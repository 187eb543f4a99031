import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { countTokens } from '../tenancy/usage.ts';
import type { RunError, RunStatus } from './core/run-status.ts';
import type { Provider, Step } from './core/steps.ts';
import type { Warning } from './core/template.ts';
import type { RunOutput } from './runs.ts';

/** Everything that performing one step needs, and what is already known of it. */
export interface StepWork {
  status: RunStatus;
  step: Step | null;
  aiProvider: Provider;
  aiModel: string;
  input: unknown;
  variables: Record<string, unknown>;
  /** Outputs of the steps before this one. */
  outputs: Record<string, unknown>;
  /** This step's own row, when an earlier attempt left one. */
  recorded: { status: string; attempts: number } | null;
}

const findStepWork = statement<StepWork>(
  'run.step_work',
  `select r.status, d.steps -> $4::int as step, d.ai_provider as "aiProvider", d.ai_model as "aiModel", r.input, r.variables,
          coalesce((select jsonb_object_agg(p.step_id, p.output) from run_step p
                     where p.run_id = r.id and p.position < $4 and p.status = 'completed'), '{}') as outputs,
          (select jsonb_build_object('status', s.status, 'attempts', s.attempts) from run_step s
            where s.run_id = r.id and s.position = $4) as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
    where r.organization_id = $1 and r.environment = $2 and r.id = $3`,
);

/** Undefined when the run was deleted. A position past the last step gives the outputs of all of them. */
export function loadStepWork(scope: Scope, runId: string, position: number): Promise<StepWork | undefined> {
  return scope.one(findStepWork, runId, position);
}

const beginStatement = statement<{ attempts: number }>(
  'run.begin_step',
  `with moved as (
     update run set status = 'running', started_at = coalesce(started_at, $8::timestamptz), current_step = $5::text
      where organization_id = $1 and environment = $2 and id = $3 and status in ('queued', 'running')
      returning id)
   insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, warnings,
                         provider, model, started_at)
   select id, $4::int, $1::uuid, $2::text, $5::text, $9::text, 'running', 1, '[]', $6::text, $7::text, $8::timestamptz from moved
   on conflict (run_id, position) do update set attempts = run_step.attempts + 1
    where run_step.status = 'running'
   returning attempts`,
);

export interface StepFacts {
  runId: string;
  position: number;
  step: Step;
  provider: string;
  model: string;
  startedAt: Date;
}

/**
 * Says that a step is being worked on, before a call that takes time.
 * @returns the number of this attempt, or undefined when the run or the step is over.
 */
export async function beginStep(scope: Scope, facts: StepFacts): Promise<number | undefined> {
  const { runId, position, step, provider, model, startedAt } = facts;
  const row = await scope.one(beginStatement, runId, position, step.id, provider, model, startedAt, step.name ?? null);
  return row?.attempts;
}

/** How a step ended. */
export type StepEnd =
  | { status: 'completed'; output: unknown; tokensUsed: number; warnings: Warning[] }
  | { status: 'failed'; error: RunError; warnings: Warning[] };

/** What the end of a step makes of its run; absent while there are steps to come. */
export type RunEnd = { status: 'completed'; output: RunOutput } | { status: 'failed'; error: RunError } | undefined;

// One statement, one transaction: the step, its run, the outbox entry that is done, and the word to whoever waits.
// A step that is already over changes nothing, so tokens are counted once however often this is repeated.
const endStatement = statement<{ id: string }>(
  'run.end_step',
  `with step as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, output, error,
                           warnings, provider, model, tokens_used, started_at, finished_at, duration_ms)
     select r.id, $4::int, $1::uuid, $2::text, $5::text, $6::text, $7::text, 1, $8::jsonb, $9::jsonb, $10::jsonb,
            $11::text, $12::text, $13::int, $14::timestamptz, $15::timestamptz, $16::int
       from run r where r.organization_id = $1 and r.environment = $2 and r.id = $3 and r.status in ('queued', 'running')
     on conflict (run_id, position) do update
        set status = excluded.status, output = excluded.output, error = excluded.error, warnings = excluded.warnings,
            provider = excluded.provider, model = excluded.model, tokens_used = excluded.tokens_used,
            finished_at = excluded.finished_at,
            duration_ms = round(extract(epoch from excluded.finished_at - run_step.started_at) * 1000)
      where run_step.status = 'running'
     returning run_id),
   moved as (
     update run set status = $17::text, current_step = $5::text, started_at = coalesce(started_at, $14::timestamptz),
            finished_steps = finished_steps + case when $7::text = 'completed' then 1 else 0 end,
            tokens_used = coalesce(tokens_used, 0) + coalesce($13::int, 0),
            output = $18::jsonb, error = $19::jsonb,
            finished_at = case when $17::text = 'running' then null else $15::timestamptz end,
            duration_ms = case when $17::text = 'running' then null
              else round(extract(epoch from $15::timestamptz - coalesce(started_at, $14::timestamptz)) * 1000) end
      where id in (select run_id from step) and status in ('queued', 'running')
     returning id, status),
   counted as (${countTokens('$13::int', 'moved')}),
   owed as (
     delete from outbox where kind = 'run.start' and subject_id in (select id from moved where status <> 'running'))
   select id, case when $20::text is not null and status <> 'running' then pg_notify($20::text, id::text) end from moved`,
);

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

/**
 * Records how a step ended and, with it, how its run did.
 * @param notify channel of another process that waits for the run; told in the same transaction
 * @returns false when the run or the step was already over, or is gone
 */
export async function endStep(
  scope: Scope,
  facts: StepFacts,
  end: StepEnd,
  run: RunEnd,
  notify: string | null,
): Promise<boolean> {
  const { runId, position, step, provider, model, startedAt } = facts;
  const finishedAt = new Date();
  const tokensUsed = end.status === 'completed' ? end.tokensUsed : null;
  const row = await scope.one(
    endStatement,
    ...[runId, position, step.id, step.name ?? null, end.status],
    ...[end.status === 'completed' ? json(end.output) : null, end.status === 'failed' ? json(end.error) : null],
    ...[json(end.warnings), provider, model, tokensUsed],
    ...[startedAt, finishedAt, finishedAt.getTime() - startedAt.getTime()],
    ...[run?.status ?? 'running', run?.status === 'completed' ? json(run.output) : null],
    ...[run?.status === 'failed' ? json(run.error) : null, notify],
  );
  return row !== undefined;
}

const finishStatement = statement<{ id: string }>(
  'run.finish',
  `with moved as (
     update run set status = 'completed', output = $4::jsonb, finished_at = $5::timestamptz,
            started_at = coalesce(started_at, $5::timestamptz), tokens_used = coalesce(tokens_used, 0),
            duration_ms = round(extract(epoch from $5::timestamptz - coalesce(started_at, $5::timestamptz)) * 1000)
      where organization_id = $1 and environment = $2 and id = $3 and status in ('queued', 'running')
     returning id),
   owed as (delete from outbox where kind = 'run.start' and subject_id in (select id from moved))
   select id, case when $6::text is not null then pg_notify($6::text, id::text) end from moved`,
);

/** Completes a run apart from any step's recording. @returns false when it was over already, or is gone */
export async function finishRun(
  scope: Scope,
  runId: string,
  output: RunOutput,
  notify: string | null,
): Promise<boolean> {
  return (await scope.one(finishStatement, runId, json(output), new Date(), notify)) !== undefined;
}
