import type { Scope } from '../../../src/platform/database/scope.ts';
import { type AppError, invalid } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext } from '../../context.ts';

const prefix = 'workflow:';

/** The workflow that a model's name stands for, as the caller wrote its id. */
export const workflowOf = (model: string): string | undefined =>
  model.startsWith(prefix) ? model.slice(prefix.length) : undefined;

/** What a run ended with, as the text of an answer. */
export interface RunAnswer {
  runId: string;
  createdAt: Date;
  text: string;
}

/** What the endpoints of models need of workflows. */
export interface WorkflowModels {
  /**
   * Runs a workflow and waits for its result. The run goes on when its caller disconnects.
   * @throws AppError forbidden without `runs:execute`; workflow_not_found; as `createRun`; service_unavailable when the run
   *   takes longer than a request waits
   */
  run(
    c: ApiContext,
    services: Services,
    workflowId: string,
    asked: { input: string; variables: Record<string, string> },
  ): Promise<RunAnswer>;
  /** Why a schema of an answer cannot be used; undefined when it can. */
  findSchemaProblem(services: Services, scope: Scope, schema: Record<string, unknown>): Promise<string | undefined>;
}

export const notOfWorkflows = (path: string): AppError =>
  invalid([{ path, message: 'Workflows do not support this.' }]);

export const noInput = (path: string): AppError =>
  invalid([{ path, message: 'A workflow needs a message of the user as its input.' }]);
