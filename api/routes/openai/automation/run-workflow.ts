import { asText } from '../../../../src/automation/core/template.ts';
import { isInactive, workflowNotFound } from '../../../../src/automation/errors.ts';
import { createRun } from '../../../../src/automation/runs/create-run.ts';
import type { RunDetail } from '../../../../src/automation/runs/runs.ts';
import { findSchemaProblem } from '../../../../src/automation/steps/output-schema.ts';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { AppError, type FieldError, invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { notReady } from '../../../await-job.ts';
import type { ApiContext } from '../../../context.ts';
import { shownOutput } from '../../../dialects/automation/outputs.ts';
import { publishedError } from '../../../dialects/automation/published-error.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';
import { awaitRun } from '../../v1/automation/execute-run.ts';
import type { RunAnswer, WorkflowModels } from '../workflow-models.ts';

function answerOf(run: RunDetail): RunAnswer {
  const { id: runId, status, createdAt } = run;
  if (status === 'completed') return { runId, createdAt, text: asText(shownOutput(run, runId)?.result) };
  if (status === 'cancelled') throw new AppError('conflict', 'The run was cancelled.', { runId });
  const { code = 'internal_error', message = 'The run failed.' } = publishedError(run.error) ?? {};
  throw new AppError('ai_provider_error', message, { runId }, { code });
}

/** The inputs of a workflow are the metadata of a request. */
function inTheirWords(error: unknown): unknown {
  const errors = error instanceof AppError && (error.facts?.errors as FieldError[] | undefined);
  if (!errors) return error;
  return invalid(errors.map(({ path, message }) => ({ path: path.replace(/^inputs\b/, 'metadata'), message })));
}

async function runWorkflow(
  c: ApiContext,
  services: Services,
  workflowId: string,
  { input, variables }: { input: string; variables: Record<string, string> },
): Promise<RunAnswer> {
  const [scope, caller] = [c.get('scope'), c.get('caller')];
  checkScopes(caller, { scopes: ['runs:execute'] });
  const open = await services.openRequests.open(caller, 'waitingRequests');
  try {
    const run = await createRun(services, scope, workflowId, {
      input: { value: input },
      variables,
      idempotency: readIdempotency(c),
      waiter: services.waiters.channel,
    }).catch((error: unknown) => {
      throw isInactive(error) ? workflowNotFound(workflowId) : inTheirWords(error);
    });
    if (run.runId === null) throw new AppError('conflict', 'The workflow skips further runs while it runs.');
    const ended = await awaitRun(services, scope, run, open.signal);
    const refusal = await open.refusal();
    if (refusal) throw refusal;
    markReplayed(c, run.replayed);
    if (ended === 'deleted') throw run.replayed ? resourceDeleted() : workflowNotFound(workflowId);
    if (ended === 'unfinished') throw notReady('answer');
    return answerOf(ended);
  } finally {
    open.close();
  }
}

/** Workflows as models. */
export const workflowModels: WorkflowModels = {
  run: runWorkflow,
  findSchemaProblem: ({ boundedWork }, { tenantKey }, schema) => findSchemaProblem(boundedWork, tenantKey, schema),
};
