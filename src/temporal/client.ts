import {
  Client,
  type ConnectionLike,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import type { Tracing } from '../platform/observability/telemetry.ts';
import type { Priority } from './contracts/priorities.ts';
import { type Queue, taskQueueName } from './contracts/queues.ts';
import type { Fairness, WorkContext } from './contracts/work-context.ts';
import { missingSearchAttributes } from './namespace.ts';
import { attributesOf } from './search-attributes.ts';
import { traceStarts } from './trace-starts.ts';

interface TemporalSettings {
  connection: ConnectionLike;
  namespace: string;
  /** Lets several installations share one namespace. */
  taskQueuePrefix: string;
  tracing?: Tracing | undefined;
}

/** A tenant's workflow, to be started. */
export interface WorkflowStart<Args extends WorkContext = WorkContext> {
  type: string;
  workflowId: string;
  /** The queue of its workflow tasks. */
  queue: Queue;
  priority: Priority;
  args: Args;
  /** The resource it works on, by which operators find it. */
  resourceId: string;
  /** Shown to operators above the history. */
  summary?: string;
  fairness: Fairness;
  /** True: never a second time, even after the first has ended. Otherwise only while the first is open. */
  once?: boolean;
  /** Shown to operators with the correlation id. */
  memo?: Record<string, unknown>;
  searchAttributes?: SearchAttributePair[];
}

/** The state of a workflow in Temporal; `missing` when Temporal never knew it, or no longer does. */
export type WorkflowState = 'open' | 'closed' | 'terminated' | 'timedOut' | 'cancelled' | 'missing';

const closedStates: Partial<Record<WorkflowExecutionStatusName, WorkflowState>> = {
  COMPLETED: 'closed',
  FAILED: 'closed',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timedOut',
  CANCELLED: 'cancelled',
};

/** The client of Temporal. Each feature has files of its own for the workflows that it starts and signals. */
export class TemporalClient {
  readonly client: Client;
  readonly #settings: TemporalSettings;
  readonly #eagerStarts = new Set<Queue>();

  constructor(settings: TemporalSettings) {
    this.#settings = settings;
    const { connection, namespace, tracing } = settings;
    const interceptors = tracing && { workflow: [traceStarts(tracing)] };
    this.client = new Client({ connection, namespace, ...(interceptors && { interceptors }) });
  }

  /** The queue's full name in this installation. */
  taskQueue(queue: Queue): string {
    return taskQueueName(this.#settings.taskQueuePrefix, queue);
  }

  /**
   * Eager starts hand the first task of a workflow on the queue straight to a worker on the same connection, whatever its
   * version. To be allowed only while this process has such a worker and the worker's version is the current one.
   */
  allowEagerStarts(queue: Queue, allowed: boolean): void {
    if (allowed) this.#eagerStarts.add(queue);
    else this.#eagerStarts.delete(queue);
  }

  /** Whether a workflow that this process starts on the queue begins in it, as far as it has places. */
  startsEagerly(queue: Queue): boolean {
    return this.#eagerStarts.has(queue);
  }

  /** The server's version. @throws Error when none answers in time */
  async serverVersion(withinMs: number): Promise<string> {
    const { connection } = this.#settings;
    const asked = () => connection.workflowService.getSystemInfo({});
    const { serverVersion } = await connection.withDeadline(Date.now() + withinMs, asked);
    return serverVersion ?? 'unknown';
  }

  get namespace(): string {
    return this.#settings.namespace;
  }

  /** The search attributes that the namespace lacks. @throws Error when the server does not say in time */
  missingSearchAttributes(withinMs: number): Promise<string[]> {
    const { connection, namespace } = this.#settings;
    return connection.withDeadline(Date.now() + withinMs, () => missingSearchAttributes(connection, namespace));
  }

  /** Starts a workflow. Harmless when it is started already. */
  async start<Args extends WorkContext>(start: WorkflowStart<Args>): Promise<void> {
    await this.startUnlessStarted(start);
  }

  /** The same. @returns whether it was started now */
  async startUnlessStarted<Args extends WorkContext>(start: WorkflowStart<Args>): Promise<boolean> {
    try {
      const eager = start.once === true && this.startsEagerly(start.queue);
      const options = { ...this.#options(start), ...(eager && { requestEagerStart: true }) };
      await this.client.workflow.start(start.type, options as never);
      return true;
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return false;
    }
  }

  /** Signals a workflow, and starts it first when it is not open. */
  async signalWithStart<Args extends WorkContext>(signal: string, start: WorkflowStart<Args>): Promise<void> {
    const options = { ...this.#options(start), signal, signalArgs: [] };
    await this.client.workflow.signalWithStart(start.type, options as never);
  }

  /** Signals a workflow. Harmless when it is over or was never started. */
  signalIfOpen(workflowId: string, signal: string): Promise<void> {
    return this.#unlessMissing(() => this.client.workflow.getHandle(workflowId).signal(signal));
  }

  /** Asks a workflow to stop. Harmless when it is over or was never started. */
  cancel(workflowId: string): Promise<void> {
    return this.#unlessMissing(() => this.client.workflow.getHandle(workflowId).cancel());
  }

  /** @throws Error when Temporal does not answer in time */
  async state(workflowId: string, withinMs = 5_000): Promise<WorkflowState> {
    const handle = this.client.workflow.getHandle(workflowId);
    try {
      const { status } = await this.#settings.connection.withDeadline(Date.now() + withinMs, () => handle.describe());
      return closedStates[status.name] ?? 'open';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'missing';
      throw error;
    }
  }

  /**
   * The ids of all workflows that a visibility query finds. Visibility may be some seconds old.
   * @throws Error when Temporal does not answer in time
   */
  workflowIds(query: string, withinMs = 10_000): Promise<string[]> {
    return this.#settings.connection.withDeadline(Date.now() + withinMs, async () => {
      const ids: string[] = [];
      for await (const { workflowId } of this.client.workflow.list({ query })) ids.push(workflowId);
      return ids;
    });
  }

  #options({ workflowId, queue, priority, args, resourceId, summary, fairness, once, ...start }: WorkflowStart) {
    const { memo, searchAttributes = [] } = start;
    return {
      workflowId,
      taskQueue: this.taskQueue(queue),
      args: [args],
      ...(once && { workflowIdReusePolicy: 'REJECT_DUPLICATE' }),
      ...(summary && { staticSummary: summary }),
      memo: { correlationId: args.correlationId, ...memo },
      typedSearchAttributes: [
        ...attributesOf(args.organizationId, resourceId, args.correlationId),
        ...searchAttributes,
      ],
      priority: { priorityKey: priority, fairnessKey: fairness.key, fairnessWeight: fairness.weight },
    };
  }

  async #unlessMissing(call: () => Promise<unknown>): Promise<void> {
    try {
      await call();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
