import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { runWorkflowId } from '../../temporal/contracts/automation.ts';
import { organizationIds } from '../../tenancy/core/ids.ts';
import { runIds, workflowIds } from '../core/ids.ts';
import { runNotFound } from '../errors.ts';
import { getRun, type RunDetail, type StepResult } from './runs.ts';

const findTenant = systemStatement({
  name: 'run.tenant',
  parameters: { id: 'uuid' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), correlationId: 'text' },
  text: `select organization_id as "organizationId", environment, correlation_id as "correlationId" from run where id = :id`,
});

/** A run of any tenant. @throws AppError run_not_found */
async function findAnyRun(
  database: Database,
  id: string,
): Promise<{ tenant: Tenant; correlationId: string; run: RunDetail }> {
  const uuid = runIds.parse(id);
  const found = uuid && (await sqlOn(database.pool).one(findTenant, { id: uuid }));
  if (!found) throw runNotFound(id);
  const { correlationId, ...tenant } = found;
  return { tenant, correlationId, run: await getRun(new Scope(database, tenant, correlationId, 'operator'), uuid) };
}

// Inputs and outputs are the tenant's and stay out.
function stepView(step: StepResult) {
  const { stepId, status, attempts, provider, model, tokensUsed, durationMs, warnings, error } = step;
  return { stepId, status, attempts, provider, model, tokensUsed, durationMs, warnings, error };
}

/** A run of any tenant and why it failed, for operators. `id` in either form. @throws AppError run_not_found */
export async function describeRun(database: Database, id: string): Promise<object> {
  const { tenant, correlationId, run } = await findAnyRun(database, id);
  return {
    id: runIds.format(run.id),
    status: run.status,
    error: run.error,
    organizationId: organizationIds.format(tenant.organizationId),
    environment: tenant.environment,
    workflowId: workflowIds.format(run.automationId),
    workflowName: run.automationName,
    correlationId,
    temporalWorkflowId: runWorkflowId(run.id),
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    durationMs: run.durationMs,
    tokensUsed: run.tokensUsed,
    steps: run.stepResults.map(stepView),
  };
}
