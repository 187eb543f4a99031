import {
  Client,
  type ConnectionLike,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { Tracing } from '../platform/telemetry.ts';
import {
  type ExecuteRunArgs,
  type Fairness,
  type PurgeAutomationArgs,
  purgeWorkflowId,
  type Queue,
  queues,
  runWorkflowId,
  type Workflows,
  workflowTypes,
} from './contracts.ts';
import { Deliveries } from './deliveries.ts';
import { Schedules } from './schedules.ts';
import { attributesOf } from './search-attributes.ts';
import { traceStarts } from './trace-starts.ts';

export interface TemporalSettings {
  connection: ConnectionLike;
  namespace: string;
  /** Lets several installations share one namespace. */
  taskQueuePrefix: string;
  /** True where the same process also polls the queue: the first task then comes with the answer to the start. */
  eagerStart: boolean;
  tracing?: Tracing | undefined;
}

/** What Temporal knows of a workflow; `missing` when it never heard of it, or no longer. */
export type WorkflowState = 'open' | 'closed' | 'terminated' | 'timedOut' | 'cancelled' | 'missing';

const closedStates: Partial<Record<WorkflowExecutionStatusName, WorkflowState>> = {
  COMPLETED: 'closed',
  FAILED: 'closed',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timedOut',
  CANCELLED: 'cancelled',
};

export const taskQueueName = (prefix: string, queue: Queue) => `${prefix}${queues[queue]}`;

/** The one way from the product to Temporal. Starting what is already started, or was, is success. */
export class TemporalClient {
  readonly client: Client;
  readonly schedules: Schedules;
  readonly deliveries: Deliveries;
  readonly #settings: TemporalSettings;

  constructor(settings: TemporalSettings) {
    this.#settings = settings;
    const { connection, namespace, tracing } = settings;
    const interceptors = tracing && { workflow: [traceStarts(tracing)] };
    this.client = new Client({ connection, namespace, ...(interceptors && { interceptors }) });
    const runsQueue = taskQueueName(settings.taskQueuePrefix, 'runs');
    this.schedules = new Schedules(this.client, runsQueue);
    this.deliveries = new Deliveries(this.client, runsQueue);
  }

  /** Which version answers. @throws Error when none does in time */
  async serverVersion(withinMs: number): Promise<string> {
    const { connection } = this.#settings;
    const asked = () => connection.workflowService.getSystemInfo({});
    const { serverVersion } = await connection.withDeadline(Date.now() + withinMs, asked);
    return serverVersion ?? 'unknown';
  }

  startRun(args: ExecuteRunArgs, automationId: string, fairness: Fairness): Promise<void> {
    return this.#start('executeRun', runWorkflowId(args.runId), args, automationId, fairness);
  }

  startPurge(args: PurgeAutomationArgs, fairness: Fairness): Promise<void> {
    return this.#start('purgeAutomation', purgeWorkflowId(args.automationId), args, args.automationId, fairness);
  }

  /** Asks a run's workflow to stop; one that is over or was never started needs no asking. */
  async cancelRun(runId: string): Promise<void> {
    try {
      await this.client.workflow.getHandle(runWorkflowId(runId)).cancel();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  /** @throws Error when Temporal does not answer in time */
  async runState(runId: string, withinMs = 5_000): Promise<WorkflowState> {
    const handle = this.client.workflow.getHandle(runWorkflowId(runId));
    try {
      const { status } = await this.#settings.connection.withDeadline(Date.now() + withinMs, () => handle.describe());
      return closedStates[status.name] ?? 'open';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'missing';
      throw error;
    }
  }

  async #start<Type extends 'executeRun' | 'purgeAutomation'>(
    type: Type,
    workflowId: string,
    args: Parameters<Workflows[Type]>[0],
    resourceId: string,
    fairness: Fairness,
  ): Promise<void> {
    try {
      await this.client.workflow.start<(args: Parameters<Workflows[Type]>[0]) => Promise<void>>(workflowTypes[type], {
        workflowId,
        taskQueue: taskQueueName(this.#settings.taskQueuePrefix, 'runs'),
        args: [args],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        requestEagerStart: this.#settings.eagerStart,
        memo: { correlationId: args.correlationId },
        typedSearchAttributes: attributesOf(args.organizationId, resourceId),
        priority: { fairnessKey: fairness.key, fairnessWeight: fairness.weight },
      } as never);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
}
