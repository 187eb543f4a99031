import { invalid } from '../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/idempotency.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Environment } from '../platform/tenant.ts';
import type { ProviderRegistry } from '../providers/index.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { workflowIds } from './core/ids.ts';
import { type InputDefinition, resolveInputs } from './core/inputs.ts';
import { candidatesOf, type ModelChoice, type Step } from './core/steps.ts';
import { workflowInactive, workflowNotFound } from './errors.ts';
import { insertNewRun } from './insert-run.ts';
import type { CreatedRun, StartRunServices } from './start-run-workflow.ts';

export interface RunRequest {
  /** The value of `{{input}}`. `whole` means all variables, with defaults. */
  input: { value: unknown } | 'whole';
  variables: Record<string, unknown>;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
  /** Further work in the transaction that creates the run. */
  also?: ((tx: Transaction, runId: string) => Promise<void>) | undefined;
}

interface Startable {
  id: string;
  state: string;
  definitionId: string;
  byDefault: ModelChoice;
  steps: Step[];
  inputs: InputDefinition[];
  plan: PlanName;
}

const findStartable = statement<Startable>(
  'run.startable',
  `select a.id, a.state, d.id as "definitionId", d.steps, d.inputs, o.plan,
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault"
     from automation a
     join definition d on d.id = a.definition_id
     join organization o on o.id = a.organization_id
    where a.organization_id = $1 and a.environment = $2 and a.id = $3 and a.deleted_at is null`,
  { sharesConnection: true },
);

/** Each prompt step needs at least one configured model. @throws AppError provider_not_configured, with its first model's provider */
export function checkProviders(
  providers: ProviderRegistry,
  environment: Environment,
  steps: readonly Step[],
  byDefault: ModelChoice,
): void {
  const find = ({ provider, model }: ModelChoice) => providers.textModel(environment, provider, model);
  const isConfigured = (choice: ModelChoice) => {
    try {
      return find(choice) !== undefined;
    } catch {
      return false;
    }
  };
  for (const step of steps) {
    if (step.type !== 'prompt') continue;
    const candidates = candidatesOf(step, byDefault);
    if (!candidates.some(isConfigured)) find(candidates[0]);
  }
}

/**
 * Creates a run: its row, the claim of its Idempotency-Key and the outbox entry that starts its workflow commit together.
 * @throws AppError workflow_not_found, workflow_inactive, validation_error, provider_not_configured, idempotency_key_reused
 */
export async function createRun(
  services: StartRunServices,
  scope: Scope,
  id: string,
  request: RunRequest,
): Promise<CreatedRun> {
  const uuid = workflowIds.parse(id);
  const startable = uuid && (await scope.one(findStartable, uuid));
  if (!startable) throw workflowNotFound(id);
  const { id: automationId, definitionId, steps, plan } = startable;
  const claim = request.idempotency;
  const earlier = claim && (await findClaim(scope, claim));
  if (earlier) return { runId: earlier.resourceId, automationId, replayed: true };

  if (startable.state !== 'active') throw workflowInactive(id);
  const { variables, problems } = resolveInputs(startable.inputs, request.variables);
  if (problems.length > 0) throw invalid(problems);
  checkProviders(services.providers, scope.tenant.environment, steps, startable.byDefault);

  const input = request.input === 'whole' ? variables : request.input.value;
  const run = { automationId, definitionId, namedAs: id, input, variables, totalSteps: steps.length };
  const start = { plan, steps, position: 0, waiter: request.waiter };
  return { automationId, ...(await insertNewRun(scope, claim, run, start, request.also)) };
}
