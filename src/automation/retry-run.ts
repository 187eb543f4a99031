import { AppError, invalid } from '../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/idempotency.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import type { AutomationState } from './core/automation-state.ts';
import { runIds } from './core/ids.ts';
import { doneStep, isStepDone, isTerminal, type RunStatus, type StepStatus } from './core/run-status.ts';

import type { ModelChoice, Step } from './core/steps.ts';
import { checkProviders } from './create-run.ts';
import { runNotFound, workflowInactive } from './errors.ts';
import { insertNewRun } from './insert-run.ts';
import type { CreatedRun, StartRunServices } from './start-run-workflow.ts';

interface Retryable {
  automationId: string;
  state: AutomationState;
  status: RunStatus;
  definitionId: string;
  input: unknown;
  variables: Record<string, unknown>;
  byDefault: ModelChoice;
  steps: Step[];
  plan: PlanName;
  recorded: { position: number; status: StepStatus }[];
}

const findRetryable = statement<Retryable>(
  'run.retryable',
  `select r.automation_id as "automationId", a.state, r.status, r.definition_id as "definitionId", r.input, r.variables,
          jsonb_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault", d.steps, o.plan,
          coalesce((select jsonb_agg(jsonb_build_object('position', s.position, 'status', s.status) order by s.position)
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
    where r.organization_id = $1 and r.environment = $2 and r.id = $3`,
);

// Copied steps have no attempts, tokens or duration of their own.
const takeOver = statement(
  'run.take_over_steps',
  `with taken as (
     insert into run_step (run_id, position, organization_id, environment, step_id, name, status, attempts, output,
                           output_bytes, warnings, provider, model, started_at, finished_at, duration_ms)
     select $4::uuid, position, $1::uuid, $2::text, step_id, name, status, 0, output, output_bytes, warnings, provider, model,
            clock_timestamp(), clock_timestamp(), 0
       from run_step
      where organization_id = $1 and environment = $2 and run_id = $3 and position < $5
        and status in (${doneStep})
     returning run_id)
   update run set finished_steps = (select count(*) from taken)
    where organization_id = $1 and environment = $2 and id = $4`,
);

/** The first position. Every step before it must have a result to copy. @throws AppError validation_error */
function beginning({ steps, recorded }: Retryable, fromStep: string | undefined): number {
  const done = new Set(recorded.filter(({ status }) => isStepDone(status)).map(({ position }) => position));
  const firstOpen = steps.findIndex((_, position) => !done.has(position));
  // A run with every step done starts again from its first step.
  if (fromStep === undefined) return Math.max(firstOpen, 0);
  const position = steps.findIndex(({ id }) => id === fromStep);
  if (position < 0) throw invalid([{ path: 'fromStep', message: 'The run has no step of this id.' }]);
  if (firstOpen >= 0 && position > firstOpen) {
    const message = `The step "${steps[firstOpen]!.id}", which comes before it, has not completed.`;
    throw invalid([{ path: 'fromStep', message }]);
  }
  return position;
}

export interface RetryRequest {
  /** The id of the first step; by default the first one that did not complete. */
  fromStep?: string | undefined;
  idempotency?: IdempotencyClaim | undefined;
}

/**
 * Creates a new run with the definition, input and variables of an ended run. Results of the steps before its first
 * position are copied.
 * @throws AppError run_not_found, conflict while the run is open, workflow_inactive, validation_error,
 *   provider_not_configured, idempotency_key_reused
 */
export async function retryRun(
  services: StartRunServices,
  scope: Scope,
  id: string,
  { fromStep, idempotency }: RetryRequest,
): Promise<CreatedRun> {
  const retriedId = runIds.parse(id);
  const retried = retriedId && (await scope.one(findRetryable, retriedId));
  if (!retried) throw runNotFound(id);
  const { automationId, definitionId, steps, plan, input, variables } = retried;
  const earlier = idempotency && (await findClaim(scope, idempotency));
  if (earlier) return { runId: earlier.resourceId, automationId, replayed: true };

  if (!isTerminal(retried.status)) throw new AppError('conflict', 'The run has not ended.', { runId: id });
  if (retried.state !== 'active') throw workflowInactive(automationId);
  const position = beginning(retried, fromStep);
  checkProviders(services.providers, scope.tenant.environment, steps.slice(position), retried.byDefault);

  const run = {
    ...{ automationId, definitionId, namedAs: automationId, input, variables, totalSteps: steps.length },
    retry: { of: retriedId, firstPosition: position },
  };
  const start = { plan, steps, position, waiter: null };
  const created = await insertNewRun(scope, idempotency, run, start, async (tx, newRunId) => {
    if (position > 0) await tx.rows(takeOver, retriedId, newRunId, position);
  });
  return { automationId, ...created };
}
