import { findClaim, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import type { StepKinds } from '../../platform/parts/step-kind.ts';
import { enforceStorageLimit, uncountedBytes } from '../../storage/index.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import type { AutomationState } from '../core/automation-state.ts';
import { runIds } from '../core/ids.ts';
import { type InputDefinition, resolveInputs } from '../core/inputs.ts';
import { type PastStep, planRetry, type RetryPlan, RetryRefused } from '../core/retry-plan.ts';
import { isTerminal, type RunStatus, stepStates } from '../core/run-status.ts';
import type { Concurrency } from '../core/starts.ts';
import { dottedPath, readPath, type StepPath } from '../core/step-path.ts';
import { isOfFeature, stepsIn } from '../core/step-types.ts';
import type { ModelChoice, Step } from '../core/steps.ts';
import { runNotFound, workflowInactive } from '../errors.ts';
import { findGroup } from '../starts/concurrency-group.ts';
import { type CreatedRun, type CreateRunServices, checkProviders, finishInsert } from './create-run.ts';
import { bytesOf, insertNewRun, type NewRun, toJson } from './insert-run.ts';

/** Bytes of the largest output of a condition: `false`. */
const conditionBytes = 5;

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
    // Absent where the new run has the same definition.
    pastSteps: typed<Step[] | null>('json?'),
    keys: typed<Record<string, string> | null>('json?'),
    recorded: typed<PastStep[]>('json'),
  },
  text: `select r.automation_id as "automationId", a.state, r.status, r.is_test as "isTest", d.id as "definitionId", r.input, r.variables,
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault", d.steps, d.inputs, o.plan,
          d.concurrency, d.max_duration_seconds as "maxDurationSeconds", a.is_paused as "isPaused", r.tags, r.metadata, r.priority,
          case when d.id <> r.definition_id then (select steps from definition where id = r.definition_id) end as "pastSteps",
          r.step_keys as keys,
          coalesce((select json_agg(json_build_object('position', s.position, 'stepId', s.step_id, 'path', s.path, 'status', s.status,
                      'took', case when s.output_bytes <= ${conditionBytes} and s.output::text in ('true', 'false') then s.output end,
                      'total', s.counts -> 'total', 'attempts', s.attempts, 'keyRunId', s.key_run_id,
                      'error', case when s.error is not null then json_build_object('code', s.error -> 'code', 'fault', s.error -> 'fault') end))
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = case when :current then a.definition_id else r.definition_id end
     join organization o on o.id = r.organization_id
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

type Retryable = Omit<RowOf<typeof findRetryable>, 'variables'> &
  Record<'variables' | 'pastVariables', Record<string, unknown>>;

// Copied steps have no attempts, tokens or duration of their own. Steps within others keep their times, because their
// order is that of their ends. A container that continues begins when the new run opens it.
const takeOver = statement({
  name: 'run.take_over_steps',
  parameters: { runId: 'uuid', newRunId: 'uuid', taken: 'json', finished: 'int', keys: 'json?' },
  text: `with given as (
     select * from json_to_recordset(:taken) as t (position int, "as" int, path text, "isOpen" boolean, "isNew" boolean)),
   taken as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, output,
                           output_bytes, output_file, warnings, warnings_total, provider, model, models, started_at, finished_at,
                           duration_ms, path, counts, error)
     select :newRunId, g."as", :organizationId, :environment, s.step_id, s.name,
            case when g."isOpen" then ${stepStates.sql('running')} else s.status end, 0,
            case when not g."isOpen" then s.output end, case when not g."isOpen" then s.output_bytes end,
            case when not g."isOpen" then s.output_file end, case when g."isOpen" then '[]' else s.warnings end,
            case when not g."isOpen" then s.warnings_total end, s.provider, s.model, s.models,
            case when g."isNew" then atelier_now() else s.started_at end,
            case when g."isOpen" then null when g."isNew" then atelier_now() else s.finished_at end,
            case when not g."isOpen" then 0 end, g.path, case when not g."isOpen" then s.counts end,
            case when not g."isOpen" then s.error end
       from given g
       join run_step s on s.organization_id = :organizationId and s.environment = :environment and s.run_id = :runId
                      and s.position = g.position)
   update run set finished_steps = :finished, step_keys = :keys
    where organization_id = :organizationId and environment = :environment and id = :newRunId`,
});

// Its steps and their files stay until the commit.
const holdRun = statement({
  name: 'run.hold',
  parameters: { runId: 'uuid' },
  row: { id: 'uuid' },
  text: 'select id from run where organization_id = :organizationId and environment = :environment and id = :runId for key share',
});

/** The ids and indexes from the top to the step to begin with. @throws AppError validation_error */
function readFrom({ fromStep, path }: RetryRequest): StepPath | undefined {
  if (path === undefined) return fromStep === undefined ? undefined : [fromStep];
  const parts = readPath(typeof path === 'string' ? path : dottedPath(path));
  if (parts.at(-1) !== fromStep) {
    const message = fromStep === undefined ? 'Name the step.' : `The last id of \`path\` is "${parts.at(-1)}".`;
    throw invalid([{ path: 'fromStep', message }]);
  }
  if (parts.length % 2 === 0) throw invalid([{ path: 'path', message: 'The path leads to no step.' }]);
  return parts;
}

/** @throws AppError validation_error */
function planOf(
  { stepKinds }: RetryServices,
  runId: string,
  retried: Retryable,
  from: StepPath | undefined,
): RetryPlan {
  const { status, steps, pastSteps, recorded, keys, variables, pastVariables } = retried;
  const byId = new Map([...stepsIn(steps)].map((step) => [step.id, step]));
  const before = new Map((pastSteps ?? steps).map((step) => [step.id, step]));
  // Variables that the run was not given can change the items of a map.
  const areSame = JSON.stringify(variables) === JSON.stringify(pastVariables);
  try {
    return planRetry(
      steps,
      byId,
      {
        id: runId,
        hasCompleted: status === 'completed',
        recorded,
        keys: keys ?? {},
        isUnchanged: (step) =>
          pastSteps === null || (areSame && JSON.stringify(step) === JSON.stringify(before.get(step.id))),
        cancelsJob: (step) => isOfFeature(step) && stepKinds.get(step.type).cancelsJob,
      },
      from,
    );
  } catch (error) {
    if (!(error instanceof RetryRefused)) throw error;
    throw invalid([{ path: error.field, message: error.message }]);
  }
}

/** `pinned`: the definition of the earlier run. `current`: the current definition of the workflow. */
export const retryDefinitions = ['pinned', 'current'] as const;
export type RetryDefinition = (typeof retryDefinitions)[number];

interface RetryRequest {
  /** The id of the first step. Default: the first step that did not complete. */
  fromStep?: string | undefined;
  /** Its position, if it is within others: as a list or dotted. Its last id is `fromStep`. */
  path?: string | StepPath | undefined;
  /** The definition that the run had, unless given. */
  definition?: RetryDefinition | undefined;
  idempotency?: IdempotencyClaim | undefined;
  /** Further work in the transaction that creates the run. */
  also?: ((tx: Transaction) => Promise<void>) | undefined;
}

export interface RetryServices extends CreateRunServices {
  stepKinds: Pick<StepKinds, 'get'>;
}

/**
 * Creates a new run with the input and variables of an ended run. Results of the steps before its first step are
 * copied, by the ids of the steps.
 * @throws AppError run_not_found, conflict while the run is open, workflow_inactive, validation_error,
 *   provider_not_configured, idempotency_key_reused, forbidden where the plan includes no more storage
 */
export async function retryRun(
  services: RetryServices,
  scope: Scope,
  id: string,
  request: RetryRequest,
): Promise<CreatedRun> {
  const { definition = 'pinned', idempotency, also } = request;
  const from = readFrom(request);
  const retriedId = runIds.parse(id);
  const retried =
    retriedId && (await scope.one(findRetryable, { runId: retriedId, current: definition === 'current' }));
  if (!retried) throw runNotFound(id);
  const { automationId, definitionId, steps, input } = retried;
  const earlier = idempotency && (await findClaim(scope, idempotency));
  if (earlier) return { runId: earlier.resourceId, automationId, replayed: true };

  if (!isTerminal(retried.status)) throw new AppError('conflict', 'The run has not ended.', { runId: id });
  if (retried.isTest)
    throw new AppError('conflict', 'A test run is not retried: test its workflow again.', { runId: id });
  if (retried.state !== 'active') throw workflowInactive(automationId);
  // The current definition may require inputs that the run was not given.
  const { variables, problems } = resolveInputs(retried.inputs, retried.variables);
  const plan = planOf(services, retriedId, { ...retried, variables, pastVariables: retried.variables }, from);
  if (problems.length > 0) throw invalid(problems);
  const { position, taken, keys } = plan;
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
  const start = { plan: retried.plan, steps, position, waiter: null };
  const copiesInput = (bytesOf(toJson(input)) ?? 0) + bytesOf(toJson(variables))! > uncountedBytes;
  const inserted = await insertNewRun(scope, idempotency, run, start, async (tx, newRunId) => {
    if (!(await tx.one(holdRun, { runId: retriedId }))) throw runNotFound(id);
    // Their outputs are stored once more, and so is the input of the run.
    if (copiesInput || taken.some(({ isOpen }) => !isOpen)) await enforceStorageLimit(tx);
    const stepKeys = Object.keys(keys).length > 0 ? JSON.stringify(keys) : null;
    if (taken.length > 0 || stepKeys) {
      const finished = taken.filter(({ path, isOpen }) => !isOpen && !path?.includes('.')).length;
      const rows = { taken: JSON.stringify(taken), finished, keys: stepKeys };
      await tx.rows(takeOver, { runId: retriedId, newRunId, ...rows });
    }
    await also?.(tx);
  });
  const created = finishInsert(services, automationId, inserted);
  if (created.runId === null) throw new AppError('conflict', 'The workflow has as many active runs as it allows.');
  return created;
}
