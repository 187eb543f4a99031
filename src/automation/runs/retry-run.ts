import { findClaim, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import type { AutomationState } from '../core/automation-state.ts';
import { runIds } from '../core/ids.ts';
import { type InputDefinition, resolveInputs } from '../core/inputs.ts';
import { doneStep, isStepDone, isTerminal, type RunStatus, type StepStatus } from '../core/run-status.ts';
import type { Concurrency } from '../core/starts.ts';
import type { ModelChoice, Step } from '../core/steps.ts';
import { runNotFound, workflowInactive } from '../errors.ts';
import { findGroup } from '../starts/concurrency-group.ts';
import { type CreateRunServices, checkProviders, finishInsert } from './create-run.ts';
import { insertNewRun, type NewRun } from './insert-run.ts';
import type { CreatedRun } from './start-run-workflow.ts';

const findRetryable = statement({
  name: 'run.retryable',
  parameters: { runId: 'uuid', current: 'boolean' },
  row: {
    automationId: 'uuid',
    state: typed<AutomationState>('text'),
    status: typed<RunStatus>('text'),
    definitionId: 'uuid',
    input: 'json',
    variables: typed<Record<string, unknown>>('json'),
    byDefault: typed<ModelChoice>('json'),
    steps: typed<Step[]>('json'),
    inputs: typed<InputDefinition[]>('json'),
    plan: typed<PlanName>('text'),
    concurrency: typed<Concurrency | null>('json?'),
    maxDurationSeconds: 'int?',
    isPaused: 'boolean',
    isTest: 'boolean',
    tags: typed<string[] | null>('jsonb?'),
    metadata: typed<Record<string, unknown> | null>('json?'),
    priority: 'smallint',
    recorded: typed<{ stepId: string; status: StepStatus }[]>('json'),
  },
  text: `select r.automation_id as "automationId", a.state, r.status, r.is_test as "isTest", d.id as "definitionId", r.input, r.variables,
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault", d.steps, d.inputs, o.plan,
          d.concurrency, d.max_duration_seconds as "maxDurationSeconds", a.is_paused as "isPaused", r.tags, r.metadata, r.priority,
          coalesce((select json_agg(json_build_object('stepId', s.step_id, 'status', s.status))
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = case when :current then a.definition_id else r.definition_id end
     join organization o on o.id = r.organization_id
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

type Retryable = RowOf<typeof findRetryable>;

// Copied steps have no attempts, tokens or duration of their own. The first id is of the step at position 0. Steps of flows
// have a path; those inside a container are copied with it, and keep their times, because their order is that of their ends.
const takeOver = statement({
  name: 'run.take_over_steps',
  parameters: { runId: 'uuid', newRunId: 'uuid', stepIds: 'text[]' },
  text: `with taken as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, output,
                           output_bytes, output_file, warnings, warnings_total, provider, model, models, started_at, finished_at,
                           duration_ms, path, counts, error)
     select :newRunId,
            case when s.path is null then kept.at - 1 else row_number() over (order by s.position) - 1 end,
            :organizationId, :environment, s.step_id, s.name, s.status, 0, s.output, s.output_bytes, s.output_file, s.warnings,
            s.warnings_total, s.provider, s.model, s.models,
            case when s.path is null then clock_timestamp() else s.started_at end,
            case when s.path is null then clock_timestamp() else s.finished_at end, 0, s.path, s.counts, s.error
       from run_step s
       join unnest(:stepIds) with ordinality as kept (step_id, at)
         on kept.step_id = coalesce(split_part(s.path, '.', 1), s.step_id)
      where s.organization_id = :organizationId and s.environment = :environment and s.run_id = :runId
        and (s.status in (${doneStep}) or s.path like '%.%')
     returning path)
   update run set finished_steps = (select count(*) from taken where path is null or path not like '%.%')
    where organization_id = :organizationId and environment = :environment and id = :newRunId`,
});

// Its steps and their files stay until the commit.
const holdRun = statement({
  name: 'run.hold',
  parameters: { runId: 'uuid' },
  row: { id: 'uuid' },
  text: 'select id from run where organization_id = :organizationId and environment = :environment and id = :runId for key share',
});

const invalidFromStep = (message: string) => invalid([{ path: 'fromStep', message }]);

/** The first position. Every step before it must have a result to copy. @throws AppError validation_error */
function beginning({ status, steps, recorded }: Retryable, fromStep: string | undefined): number {
  const done = new Set(recorded.filter((step) => isStepDone(step.status)).map(({ stepId }) => stepId));
  const firstOpen = steps.findIndex(({ id }) => !done.has(id));
  if (fromStep === undefined) {
    if (status === 'completed') throw invalidFromStep('The run has completed: name the step to start from.');
    // Every step of the current definition can have a result already: the last one is executed again.
    return firstOpen >= 0 ? firstOpen : Math.max(steps.length - 1, 0);
  }
  const position = steps.findIndex(({ id }) => id === fromStep);
  if (position < 0) throw invalidFromStep('The definition has no step of this id.');
  if (firstOpen >= 0 && position > firstOpen)
    throw invalidFromStep(`The step "${steps[firstOpen]!.id}", which comes before it, has not completed.`);
  return position;
}

/** `pinned`: the one that the run had. `current`: the one that the workflow has now. */
export const retryDefinitions = ['pinned', 'current'] as const;
export type RetryDefinition = (typeof retryDefinitions)[number];

export interface RetryRequest {
  /** The id of the first step; by default the first one that did not complete. */
  fromStep?: string | undefined;
  /** The definition that the run had, unless given. */
  definition?: RetryDefinition | undefined;
  idempotency?: IdempotencyClaim | undefined;
  /** Further work in the transaction that creates the run. */
  also?: ((tx: Transaction) => Promise<void>) | undefined;
}

/**
 * Creates a new run with the input and variables of an ended run. Results of the steps before its first position are
 * copied, by the ids of the steps.
 * @throws AppError run_not_found, conflict while the run is open, workflow_inactive, validation_error,
 *   provider_not_configured, idempotency_key_reused
 */
export async function retryRun(
  services: CreateRunServices,
  scope: Scope,
  id: string,
  { fromStep, definition = 'pinned', idempotency, also }: RetryRequest,
): Promise<CreatedRun> {
  const retriedId = runIds.parse(id);
  const retried =
    retriedId && (await scope.one(findRetryable, { runId: retriedId, current: definition === 'current' }));
  if (!retried) throw runNotFound(id);
  const { automationId, definitionId, steps, plan, input } = retried;
  const earlier = idempotency && (await findClaim(scope, idempotency));
  if (earlier) return { runId: earlier.resourceId, automationId, replayed: true };

  if (!isTerminal(retried.status)) throw new AppError('conflict', 'The run has not ended.', { runId: id });
  if (retried.isTest)
    throw new AppError('conflict', 'A test run is not retried: test its workflow again.', { runId: id });
  if (retried.state !== 'active') throw workflowInactive(automationId);
  const position = beginning(retried, fromStep);
  // The current definition may require inputs that the run was not given.
  const { variables, problems } = resolveInputs(retried.inputs, retried.variables);
  if (problems.length > 0) throw invalid(problems);
  checkProviders(services.providers, scope.tenant.environment, steps.slice(position), retried.byDefault);

  const { concurrency, maxDurationSeconds, isPaused, tags, metadata, priority } = retried;
  const group = concurrency && {
    id: await findGroup(services.boundedWork, scope.tenantKey, automationId, concurrency, { input, variables }),
    concurrency,
  };
  const run: NewRun = {
    automationId,
    definitionId,
    namedAs: automationId,
    input,
    variables,
    totalSteps: steps.length,
    retry: { of: retriedId, firstPosition: position },
    options: { tags: tags ?? [], metadata: metadata ?? undefined, priority },
    group: group ?? undefined,
    maxDurationSeconds,
    isPaused,
  };
  const start = { plan, steps, position, waiter: null };
  const inserted = await insertNewRun(scope, idempotency, run, start, async (tx, newRunId) => {
    if (!(await tx.one(holdRun, { runId: retriedId }))) throw runNotFound(id);
    const kept = steps.slice(0, position).map((step) => step.id);
    if (kept.length > 0) await tx.rows(takeOver, { runId: retriedId, newRunId, stepIds: kept });
    await also?.(tx);
  });
  const created = finishInsert(services, automationId, inserted);
  if (created.runId === null) throw new AppError('conflict', 'The workflow has as many active runs as it allows.');
  return created;
}
