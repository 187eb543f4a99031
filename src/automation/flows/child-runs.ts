import { createHash } from 'node:crypto';
import { fingerprintOf } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Files } from '../../storage/index.ts';
import { templatesIn } from '../core/payload.ts';
import { ValueRenderer } from '../core/render-value.ts';
import { endedRun, type RunError, type RunStatus } from '../core/run-status.ts';
import { dottedPath, type StepPath } from '../core/step-path.ts';
import type { WorkflowStep } from '../core/step-types.ts';
import { templateNames } from '../core/template.ts';
import { type CreateRunServices, createRun } from '../runs/create-run.ts';
import { type DayServices, takeRunOfDay } from '../starts/day-window.ts';
import { isExpressionFault } from '../steps/evaluate-step.ts';
import type { RenderServices } from '../steps/perform-step.ts';
import type { StepContext, StepEnd, StepFault } from '../steps/step-context.ts';
import { readStored } from '../steps/step-outputs.ts';
import { storable } from '../steps/storable.ts';
import type { Beginning } from './begin-waits.ts';
import type { FlowWork } from './load-flow.ts';

/** The depth of the deepest runs, which cannot start further runs. */
const maxDepth = 5;

const childFailed = (runId: string | null, code: string, message: string): StepFault => ({
  status: 'failed',
  code: 'child_failed',
  message,
  details: { runId, code },
});

/** The run that the step is executed for. */
interface ParentStep {
  runId: string;
  work: Pick<FlowWork, 'depth' | 'rootRunId' | 'tags' | 'metadata' | 'mocks'>;
  path: StepPath;
}

/** Started once, however often the step is executed anew. */
const claimOf = (runId: string, path: string) => ({
  method: 'STEP',
  path: `/api/v1/runs/${runId}/children`,
  key: createHash('sha256').update(path).digest('hex'),
  fingerprint: fingerprintOf(null),
});

/**
 * Starts the run of a step of type `workflow`.
 * @returns what the step waits for; its end when it does not wait, or when no run could be started
 * @throws OutputsTooLarge; TemplateTooLong; StorageFailure; errors of the database
 */
export async function beginChild(
  services: CreateRunServices & DayServices & RenderServices,
  scope: Scope,
  { runId, work, path }: ParentStep,
  step: WorkflowStep,
  context: StepContext,
): Promise<Beginning> {
  if (work.depth >= maxDepth) {
    const message = `Runs start each other at most ${maxDepth} deep.`;
    return { end: { status: 'failed', code: 'too_deep', message } };
  }
  const named = new Set(templatesIn({ input: step.input, variables: step.variables }).flatMap(templateNames));
  const renderer = new ValueRenderer(await context.values(named));
  const rendered = (value: unknown) => services.boundedWork.inMainThreadByParts(scope.tenantKey, renderer.value(value));
  const input = await rendered(step.input);
  const variables = (await rendered(step.variables ?? {})) as Record<string, unknown>;
  const { warnings } = renderer;
  const dotted = dottedPath(path);
  try {
    const child = await createRun(services, scope, step.workflowId, {
      input: step.input === undefined ? 'whole' : { value: input },
      variables,
      idempotency: claimOf(runId, dotted),
      waiter: null,
      options: { tags: work.tags ?? undefined, metadata: work.metadata ?? undefined, version: step.version },
      trigger: { type: 'workflow', facts: { runId, stepId: step.id } },
      test: work.mocks ? { mocks: {} } : undefined,
      count: () => takeRunOfDay(services, scope),
      parent: { runId, path: dotted, rootRunId: work.rootRunId ?? runId, depth: work.depth + 1 },
    });
    if (child.runId === null) {
      const message = 'As many runs of the workflow run as it allows, and it skips more.';
      return { end: { ...childFailed(null, 'concurrency', message), warnings } };
    }
    if (step.mode === 'detach') {
      return { end: { status: 'completed', output: storable({ runId: child.runId })!, warnings } };
    }
    return { wait: { type: 'workflow', subjectId: child.runId } };
  } catch (error) {
    if (isExpressionFault(error)) throw error;
    if (!(error instanceof AppError) || error.kind === 'internal_error' || error.kind === 'service_unavailable') {
      throw error;
    }
    return { end: { ...childFailed(null, error.code, error.message), warnings } };
  }
}

const findEnded = statement({
  name: 'flow.ended_child',
  parameters: { childId: 'uuid' },
  row: { status: typed<RunStatus>('text'), error: typed<RunError | null>('json?'), result: 'json', apart: 'text?' },
  text: `select status, error, case when total_steps = 0 then input else output -> 'result' end as result,
          case when outputs_apart ? result_step then result_step end as apart
     from run where organization_id = :organizationId and environment = :environment and id = :childId and status in (${endedRun})`,
});

const findResult = statement({
  name: 'flow.child_result',
  parameters: { childId: 'uuid', step: 'text' },
  row: { output: 'json', file: 'text?', bytes: 'int' },
  text: `select output, output_file as file, coalesce(output_bytes, 0) as bytes from run_step
    where organization_id = :organizationId and environment = :environment and run_id = :childId and coalesce(path, step_id) = :step`,
});

/** How a step ends whose run has ended. @throws StorageFailure */
export async function endOfChild(files: Files, scope: Scope, childId: string): Promise<StepEnd> {
  const child = await scope.one(findEnded, { childId });
  if (!child) return childFailed(childId, 'run_not_found', 'The run that the step started was deleted.');
  const { status, error, result, apart } = child;
  if (status !== 'completed') {
    const code = error?.code ?? status;
    return childFailed(childId, code, error?.message ?? 'The run that the step started was cancelled.');
  }
  const kept = apart === null ? undefined : await scope.one(findResult, { childId, step: apart });
  const output = kept ? await readStored(files, kept) : storable(result);
  if (output) return { status: 'completed', output };
  return { status: 'failed', code: 'output_too_large', message: 'The result of the run is too large.' };
}
