import type { Scope } from '../../../src/platform/database/scope.ts';
import { type AppError, invalid } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext } from '../../context.ts';

const prefix = 'workflow:';

/** The workflow of a model's name, in the form of the id that the caller wrote. */
export const workflowOf = (model: string): string | undefined =>
  model.startsWith(prefix) ? model.slice(prefix.length) : undefined;

/** The name of a workflow as a model. */
export const modelOf = (automationId: string): string => prefix + automationId;

/** The result of a run, as the text of an answer. */
export interface RunAnswer {
  runId: string;
  createdAt: Date;
  finishedAt: Date | null;
  text: string;
}

/** A request to a workflow as a model. */
export interface AskedOfWorkflow {
  input: string;
  variables: Record<string, string>;
  /** Data that is read with its response later; without it the run is not a response. */
  about?: WorkflowAbout | undefined;
}

/** The data of a request that the response of a workflow repeats. */
export interface WorkflowAbout {
  background: boolean;
  metadata: Record<string, string>;
}

/** A run that is read as a response. */
export interface RunResponse {
  runId: string;
  /** The workflow's name as a model. */
  model: string;
  status: 'queued' | 'processing' | 'completed' | 'failed' | 'cancelled';
  /** The result of a completed run. */
  text: string | undefined;
  /** Why a failed run failed. */
  error: { message: string } | null;
  /** When it ended; null until then. */
  finishedAt: Date | null;
  about: WorkflowAbout;
}

/** The services of workflows that the endpoints of models need. */
export interface WorkflowModels {
  /**
   * Runs a workflow and waits for its result. The run continues if its caller disconnects.
   * @throws AppError forbidden without `runs:execute`; workflow_not_found; as `createRun`; service_unavailable when the run
   *   takes longer than a request waits
   */
  run(c: ApiContext, services: Services, workflowId: string, asked: AskedOfWorkflow): Promise<RunAnswer>;
  /** Runs a workflow without waiting for it. @throws AppError as `run` */
  start(c: ApiContext, services: Services, workflowId: string, asked: AskedOfWorkflow): Promise<RunResponse>;
  /**
   * Finds a run of the last 24 hours that was requested as a response. @throws AppError forbidden without
   * `runs:execute`
   */
  find(c: ApiContext, runId: string): Promise<RunResponse | undefined>;
  /** Cancels the run of a response. A run that has ended stays unchanged. */
  cancel(c: ApiContext, services: Services, runId: string): Promise<void>;
  /** Why a schema of an answer cannot be used; undefined when it can. */
  findSchemaProblem(services: Services, scope: Scope, schema: Record<string, unknown>): Promise<string | undefined>;
}

export const notOfWorkflows = (path: string): AppError =>
  invalid([{ path, message: 'Workflows do not support this.' }]);

export const noInput = (path: string): AppError =>
  invalid([{ path, message: 'A workflow needs a message of the user as its input.' }]);
