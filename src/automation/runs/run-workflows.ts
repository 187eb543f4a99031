import type { Waiters } from '../../platform/concurrency/waiters.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { GoesOn } from '../../platform/outbox/outbox.ts';
import type { ProviderRegistry } from '../../providers/index.ts';
import type { TemporalClient, WorkflowState } from '../../temporal/client.ts';
import {
  automationWorkflows,
  type ExecuteFlowArgs,
  type ExecuteRunArgs,
  type RunPolicy,
  runMessages,
  runWorkflowId,
} from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { runIds, workflowIds } from '../core/ids.ts';
import { isFlow } from '../core/step-types.ts';
import { callsOut, type Step } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';

/**
 * A run's workflow: its type and arguments. Those of flows wait, and outlive the version of the code that they began
 * with.
 */
type RunWorkflow =
  | { type: typeof automationWorkflows.executeRun; args: ExecuteRunArgs }
  | { type: typeof automationWorkflows.executeFlow; args: ExecuteFlowArgs };

/** Asks a run's workflow to stop. Harmless when it is over or was never started. */
export const cancelRunWorkflow = (temporal: TemporalClient, runId: string): Promise<void> =>
  temporal.cancel(runWorkflowId(runId));

/** Signals a run's workflow that the run has a slot to call out. */
export const proceedRunWorkflow = (temporal: TemporalClient, runId: string): Promise<void> =>
  temporal.signalIfOpen(runWorkflowId(runId), runMessages.proceed);

/** @throws Error when Temporal does not answer in time */
export const runWorkflowState = (temporal: TemporalClient, runId: string): Promise<WorkflowState> =>
  temporal.state(runWorkflowId(runId));

export interface StartRunServices {
  temporal: TemporalClient;
  providers: ProviderRegistry;
  runPolicy: RunPolicy;
}

interface PendingRunServices extends StartRunServices {
  waiters: Waiters;
  draining: AbortController;
}

/**
 * How long a run that was started counts as under way at most, unless it ends, calls out or waits before: its process may
 * have died.
 */
const burstMs = 2_000;

/** The arguments for starting a run's workflow. */
export interface RunStart {
  runId: string;
  automationId: string;
  plan: PlanName;
  steps: readonly Step[];
  /** The first position. */
  position: number;
  isTest?: boolean;
  /** Notification channel of the process that waits for the end; null when none does. */
  waiter: string | null;
}

/** A first step that is known to call out begins as such a step. */
function beginOf({ providers }: StartRunServices, { tenant }: Scope, run: Pick<RunStart, 'steps' | 'position'>) {
  const { steps, position } = run;
  const first = steps[position];
  const isCall = first && callsOut(first, providers.mayBeInstant(tenant.environment));
  return isCall ? { kind: 'call' as const, position, stepId: first.id } : { kind: 'walk' as const };
}

/**
 * Starts a run's workflow. Harmless when it is started already. The end of the run notifies this process, also when no caller
 * waits for it: the organization's next run may start then.
 * @returns whether it was started now
 */
async function startWorkflowOf(services: PendingRunServices, scope: Scope, run: PendingRun): Promise<boolean> {
  const { tenant } = scope;
  const { runId, automationId, plan, correlationId = scope.correlationId } = run;
  const waiter = run.waiter ?? services.waiters.channel;
  const args = { ...tenant, correlationId, runId, waiter, policy: services.runPolicy };
  const workflow: RunWorkflow =
    isFlow(run.steps) || run.isTest
      ? { type: automationWorkflows.executeFlow, args }
      : { type: automationWorkflows.executeRun, args: { ...args, begin: beginOf(services, scope, run) } };
  const isNew = await services.temporal.startUnlessStarted({
    ...workflow,
    workflowId: runWorkflowId(runId),
    queue: queues.runs,
    priority: priorities.prompt,
    resourceId: automationId,
    summary: `${runIds.format(runId)} of ${workflowIds.format(automationId)}`,
    fairness: fairnessOf(tenant, plan),
    once: true,
  });
  failPoint('run.started');
  return isNew;
}

/** A run that was queued is started by a later request than the one that created it. */
type PendingRun = RunStart & { correlationId?: string };

const findPending = statement({
  name: 'run.pending_start',
  parameters: { runId: 'uuid' },
  row: {
    runId: 'uuid',
    automationId: 'uuid',
    correlationId: 'text',
    position: 'int',
    steps: typed<Step[]>('json'),
    plan: typed<PlanName>('text'),
    isTest: 'boolean',
  },
  text: `select r.id as "runId", r.automation_id as "automationId", r.correlation_id as "correlationId", r.first_position as position, d.steps, o.plan, r.is_test as "isTest"
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId and r.status = 'queued' and r.queued_for is null`,
});

/**
 * Starts the workflow of a run, unless the run has begun, has ended or was deleted.
 * @param start given right after the commit; otherwise it is read
 * @returns while the run is busy: until it ends, calls out or waits, or a short time is over
 */
export async function startPendingRun(
  services: PendingRunServices,
  scope: Scope,
  runId: string,
  start?: RunStart,
): Promise<GoesOn | undefined> {
  const pending = start ?? (await scope.one(findPending, { runId }));
  if (!pending) return undefined;
  const { waiters, draining } = services;
  // Listens first: the run may be over before Temporal has answered.
  const sign = waiters.waitForChange(runId, burstMs, draining.signal);
  const isNew = await startWorkflowOf(services, scope, { waiter: null, ...pending });
  return isNew ? new GoesOn(sign) : undefined;
}
