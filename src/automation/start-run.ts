import { AppError, invalid, workflowNotFound } from '../platform/errors.ts';
import { failPoint } from '../platform/fail-points.ts';
import { findClaim, type IdempotencyClaim, takeClaim } from '../platform/idempotency.ts';
import { newId, parseId } from '../platform/ids.ts';
import { writerGraceMs } from '../platform/outbox.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { ExecuteRunArgs, RunPolicy } from '../temporal/contracts.ts';
import { type PlanName, plans } from '../tenancy/core/plans.ts';
import { countRuns } from '../tenancy/usage.ts';
import { type InputDefinition, resolveInputs } from './core/inputs.ts';
import { modelOf, type Provider, type Step } from './core/steps.ts';

export interface StartRunServices {
  temporal: TemporalClient;
  providers: ProviderRegistry;
  runPolicy: RunPolicy;
}

export interface RunRequest {
  /** What `{{input}}` stands for; `whole` makes it the variables themselves, defaults included. */
  input: { value: unknown } | 'whole';
  variables: Record<string, unknown>;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
}

export interface StartedRun {
  runId: string;
  automationId: string;
  /** True when an earlier request with the same Idempotency-Key made the run. */
  replayed: boolean;
  /** Hands the run to Temporal. Never throws on purpose: what it does not reach, the outbox still owes. */
  launch(): Promise<void>;
}

interface Startable {
  id: string;
  state: string;
  definitionId: string;
  aiProvider: Provider;
  aiModel: string;
  steps: Step[];
  inputs: InputDefinition[];
  plan: PlanName;
}

const findStartable = statement<Startable>(
  'run.startable',
  `select a.id, a.state, d.id as "definitionId", d.ai_provider as "aiProvider", d.ai_model as "aiModel",
          d.steps, d.inputs, o.plan
     from automation a
     join definition d on d.id = a.definition_id
     join organization o on o.id = a.organization_id
    where a.organization_id = $1 and a.environment = $2 and a.id = $3 and a.deleted_at is null`,
);

// The run takes the automation's next number, and only while the automation may run: one statement decides both.
const insertRun = statement<{ id: string }>(
  'run.insert',
  `with numbered as (
     update automation set total_runs = total_runs + 1
      where organization_id = $1 and environment = $2 and id = $3 and state = 'active' and deleted_at is null
      returning total_runs as number),
   inserted as (
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      finished_steps, total_steps, correlation_id, created_at)
     select $4::uuid, $1::uuid, $2::text, $3::uuid, $5::uuid, number, 'queued', $6::jsonb, $7::jsonb, 0, $8::int, $9::text,
            clock_timestamp()
       from numbered
     returning id),
   counted as (${countRuns('inserted')})
   insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
   select $10::uuid, $1::uuid, $2::text, 'run.start', id, $9::text, 0, clock_timestamp(), clock_timestamp() + make_interval(secs => $11)
     from inserted
   returning subject_id as id`,
);

function checkProviders(providers: ProviderRegistry, scope: Scope, { steps, aiProvider, aiModel }: Startable): void {
  for (const step of steps) {
    providers.textModel(scope.tenant.environment, modelOf(step, { provider: aiProvider, model: aiModel }).provider);
  }
}

const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const inactive = (workflowId: string) =>
  new AppError('workflow_inactive', 'The workflow is not active.', { workflowId });

/**
 * Starts a run: its row, the claim of its Idempotency-Key and what the outbox owes commit together, and only then is
 * Temporal told, by `launch`. A caller that does not wait may answer before it launches.
 * @throws AppError workflow_not_found, workflow_inactive, validation_error, provider_not_configured, idempotency_key_reused
 */
export async function startRun(
  services: StartRunServices,
  scope: Scope,
  id: string,
  request: RunRequest,
): Promise<StartedRun> {
  const uuid = parseId('workflow', id);
  const startable = uuid && (await scope.one(findStartable, uuid));
  if (!startable) throw workflowNotFound(id);
  const automationId = startable.id;
  const replay = (runId: string) => ({ runId, automationId, replayed: true, launch: async () => {} });
  const claim = request.idempotency;
  const earlier = claim && (await findClaim(scope, claim));
  if (earlier) return replay(earlier.resourceId);

  if (startable.state !== 'active') throw inactive(id);
  const { variables, problems } = resolveInputs(startable.inputs, request.variables);
  if (problems.length > 0) throw invalid(problems);
  checkProviders(services.providers, scope, startable);

  const runId = newId();
  const insert = async (tx: Scope): Promise<boolean> => {
    if (claim && !(await takeClaim(tx, claim, runId))) return false;
    const input = request.input === 'whole' ? variables : request.input.value;
    const values = [runId, startable.definitionId, toJson(input), toJson(variables), startable.steps.length];
    const owed = [scope.correlationId, newId(), writerGraceMs / 1000];
    if (!(await tx.one(insertRun, automationId, ...values, ...owed))) {
      // Deactivated or deleted since it was looked at.
      throw (await tx.one(findStartable, automationId)) ? inactive(id) : workflowNotFound(id);
    }
    if (tx !== scope) failPoint('run.before-commit');
    return true;
  };
  // Without a key the one statement is the transaction.
  const inserted = claim ? await scope.transaction(insert) : await insert(scope);
  if (!inserted) return replay((await findClaim(scope, claim!))!.resourceId);
  failPoint('run.committed');

  const args = startArgs(services, scope, runId, startable, request.waiter);
  const fairness = fairnessOf(scope, startable.plan);
  const launch = async () => {
    await services.temporal.startRun(args, automationId, fairness);
    failPoint('run.started');
  };
  return { runId, automationId, replayed: false, launch };
}

const fairnessOf = (scope: Scope, plan: PlanName) => ({
  key: scope.tenant.organizationId,
  weight: plans[plan].fairnessWeight,
});

function startArgs(
  { runPolicy }: StartRunServices,
  scope: Scope,
  runId: string,
  { steps }: Pick<Startable, 'steps'>,
  waiter: string | null,
): ExecuteRunArgs {
  return {
    ...scope.tenant,
    correlationId: scope.correlationId,
    runId,
    stepIds: steps.map((step) => step.id),
    instant: scope.tenant.environment === 'test',
    waiter,
    policy: runPolicy,
  };
}

const findOwed = statement<{ automationId: string; steps: Step[]; plan: PlanName }>(
  'run.owed_start',
  `select r.automation_id as "automationId", d.steps, o.plan
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
    where r.organization_id = $1 and r.environment = $2 and r.id = $3 and r.status in ('queued', 'running')`,
);

/** Starts a run whose own process did not live to do it. A run that is over or deleted needs no start. */
export async function launchOwedRun(services: StartRunServices, scope: Scope, runId: string): Promise<void> {
  const owed = await scope.one(findOwed, runId);
  if (!owed) return;
  await services.temporal.startRun(
    startArgs(services, scope, runId, owed, null),
    owed.automationId,
    fairnessOf(scope, owed.plan),
  );
}
