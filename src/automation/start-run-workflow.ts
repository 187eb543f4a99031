import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { RunPolicy } from '../temporal/contracts/automation.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/fairness.ts';
import { openRun } from './core/run-status.ts';
import type { Step } from './core/steps.ts';
import { failPoint } from './fail-points.ts';
import { startExecuteRun } from './run-workflows.ts';

export interface StartRunServices {
  temporal: TemporalClient;
  providers: ProviderRegistry;
  runPolicy: RunPolicy;
}

export interface CreatedRun {
  runId: string;
  automationId: string;
  /** True when an earlier request with the same Idempotency-Key made the run. */
  replayed: boolean;
}

/** The arguments for starting a run's workflow. */
export interface RunStart {
  runId: string;
  automationId: string;
  plan: PlanName;
  steps: readonly Step[];
  /** The first position. */
  position: number;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
}

/** Starts a run's workflow. Harmless when it is started already. */
export async function startRunWorkflow(services: StartRunServices, scope: Scope, run: RunStart): Promise<void> {
  const { tenant, correlationId } = scope;
  const { runId, automationId, plan, steps, position, waiter } = run;
  const callsOut = steps[position]?.type === 'prompt' && !services.providers.mayBeInstant(tenant.environment);
  const begin = callsOut ? { kind: 'call' as const, position } : { kind: 'walk' as const };
  const args = { ...tenant, correlationId, runId, begin, waiter, policy: services.runPolicy };
  await startExecuteRun(services.temporal, args, automationId, fairnessOf(tenant, plan));
  failPoint('run.started');
}

const findPending = statement<Omit<RunStart, 'waiter'>>(
  'run.pending_start',
  `select r.id as "runId", r.automation_id as "automationId", r.first_position as position, d.steps, o.plan
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
    where r.organization_id = $1 and r.environment = $2 and r.id = $3 and r.status in (${openRun})`,
);

/**
 * Starts the workflow of a run, unless the run has ended or was deleted.
 * @param start given right after the commit; otherwise it is read
 */
export async function startPendingRun(
  services: StartRunServices,
  scope: Scope,
  runId: string,
  start?: RunStart,
): Promise<void> {
  if (start) return startRunWorkflow(services, scope, start);
  const pending = await scope.one(findPending, runId);
  if (pending) await startRunWorkflow(services, scope, { ...pending, waiter: null });
}
