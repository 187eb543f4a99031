import { asText } from '../../../../src/automation/core/template.ts';
import { isInactive, isRunNotFound, workflowNotFound } from '../../../../src/automation/errors.ts';
import { cancelRun } from '../../../../src/automation/runs/cancel-run.ts';
import { type CreatedRun, createRun } from '../../../../src/automation/runs/create-run.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs/runs.ts';
import { findSchemaProblem } from '../../../../src/automation/steps/output-schema.ts';
import { clock } from '../../../../src/platform/clock.ts';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { AppError, type FieldError, invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { notReady } from '../../../await-job.ts';
import type { ApiContext } from '../../../context.ts';
import { shownOutput } from '../../../dialects/automation/outputs.ts';
import { publishedError } from '../../../dialects/automation/published-error.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';
import { awaitRun } from '../../v1/automation/await-run.ts';
import {
  type AskedOfWorkflow,
  modelOf,
  type RunAnswer,
  type RunResponse,
  type WorkflowAbout,
  type WorkflowModels,
} from '../workflow-models.ts';

const needed = { scopes: ['runs:execute'] };

/** The member of a run's metadata that keeps the request data for its response. */
const kept = 'openaiResponse';
/** A response can be read so long. */
const keptForMs = 24 * 60 * 60 * 1000;

function answerOf(run: RunDetail): RunAnswer {
  const { id: runId, status, createdAt, finishedAt } = run;
  if (status === 'completed') return { runId, createdAt, finishedAt, text: asText(shownOutput(run, runId)?.result) };
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

/** Creates the run. A workflow that the caller must not run is answered like an unknown one. */
async function createRunOf(
  c: ApiContext,
  services: Services,
  workflowId: string,
  { input, variables, about }: AskedOfWorkflow,
  waiter: string | null,
): Promise<CreatedRun> {
  const run = await createRun(services, c.get('scope'), workflowId, {
    input: { value: input },
    variables,
    idempotency: readIdempotency(c),
    waiter,
    options: about && { metadata: { [kept]: about } },
  }).catch((error: unknown) => {
    throw isInactive(error) ? workflowNotFound(workflowId) : inTheirWords(error);
  });
  if (run.runId === null) throw new AppError('conflict', 'The workflow skips further runs while it runs.');
  return run;
}

async function runWorkflow(
  c: ApiContext,
  services: Services,
  workflowId: string,
  asked: AskedOfWorkflow,
): Promise<RunAnswer> {
  const [scope, caller] = [c.get('scope'), c.get('caller')];
  checkScopes(caller, needed);
  const open = await services.openRequests.open(caller, 'waitingRequests');
  try {
    const run = await createRunOf(c, services, workflowId, asked, services.waiters.channel);
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

const statuses = { queued: 'queued', running: 'processing' } as const;

function responseOf(run: RunDetail): RunResponse | undefined {
  const about = run.metadata?.[kept] as WorkflowAbout | undefined;
  if (!about || run.createdAt.getTime() < clock.now() - keptForMs) return;
  const { id: runId, status, automationId, finishedAt } = run;
  const failure = status === 'failed' ? publishedError(run.error) : null;
  return {
    runId,
    model: modelOf(automationId),
    status: status === 'queued' || status === 'running' ? statuses[status] : status,
    text: status === 'completed' ? asText(shownOutput(run, runId)?.result) : undefined,
    error: failure ? { message: failure.message } : null,
    finishedAt,
    about,
  };
}

async function findRunResponse(c: ApiContext, runId: string): Promise<RunResponse | undefined> {
  checkScopes(c.get('caller'), needed);
  const run = await getRun(c.get('scope'), runId).catch((error: unknown) => {
    if (!isRunNotFound(error)) throw error;
    return undefined;
  });
  return run && responseOf(run);
}

async function startWorkflow(
  c: ApiContext,
  services: Services,
  workflowId: string,
  asked: AskedOfWorkflow,
): Promise<RunResponse> {
  checkScopes(c.get('caller'), needed);
  const run = await createRunOf(c, services, workflowId, asked, null);
  const response = await findRunResponse(c, run.runId);
  if (!response) throw resourceDeleted();
  markReplayed(c, run.replayed);
  return response;
}

/** Workflows as models. */
export const workflowModels: WorkflowModels = {
  run: runWorkflow,
  start: startWorkflow,
  find: findRunResponse,
  async cancel(c, services, runId) {
    await cancelRun(services, c.get('scope'), runId);
  },
  findSchemaProblem: ({ boundedWork }, { tenantKey }, schema) => findSchemaProblem(boundedWork, tenantKey, schema),
};
