import { randomUUID } from 'node:crypto';
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { type ScheduledRunArgs, scheduleGraceMs, scheduleId, workflowTypes } from './contracts.ts';
import { attributesOf } from './search-attributes.ts';

/** Somebody waits for the answer, and the outbox owes what is not done. */
const callMs = 3_000;

export interface WantedSchedule extends ScheduledRunArgs {
  /** Expressions of plain numbers; a run is due when any of them comes true. */
  expressions: string[];
  timezone: string;
  paused: boolean;
}

export interface KnownSchedule {
  /** Undefined when an operator gave it other arguments. */
  revision: string | undefined;
  nextTimes: Date[];
  described: ScheduleDescription['raw'];
}

const argsOf = ({ organizationId, environment, automationId, revision }: WantedSchedule): ScheduledRunArgs => ({
  organizationId,
  environment,
  automationId,
  revision,
});

/** The Temporal Schedules of workflows. Each call ends in three seconds. */
export class Schedules {
  readonly #client: Client;
  readonly #taskQueue: string;

  constructor(client: Client, taskQueue: string) {
    this.#client = client;
    this.#taskQueue = taskQueue;
  }

  async find(automationId: string): Promise<KnownSchedule | undefined> {
    try {
      const { action, info, raw } = await this.#within(() => this.#handle(automationId).describe());
      const [carried] = (action.args ?? []) as (ScheduledRunArgs | undefined)[];
      return { revision: carried?.revision, nextTimes: info.nextActionTimes, described: raw };
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return undefined;
      throw error;
    }
  }

  /** Leaves one alone that is there by now. */
  async create(wanted: WantedSchedule): Promise<void> {
    const { automationId, organizationId, expressions, timezone, paused } = wanted;
    const id = scheduleId(automationId);
    const typedSearchAttributes = attributesOf(organizationId, automationId);
    const schedule = {
      scheduleId: id,
      spec: { cronExpressions: expressions, timezone },
      // A run is due at each time, whatever became of the one before.
      policies: { overlap: 'ALLOW_ALL', catchupWindow: scheduleGraceMs },
      state: { paused },
      typedSearchAttributes,
      action: {
        type: 'startWorkflow',
        workflowType: workflowTypes.startScheduledRun,
        workflowId: id,
        taskQueue: this.#taskQueue,
        args: [argsOf(wanted)],
        // Counted from the firing, so that it holds for an operator's backfill of times long past too.
        workflowExecutionTimeout: scheduleGraceMs,
        typedSearchAttributes,
      },
    } as const;
    try {
      await this.#within(() => this.#client.schedule.create(schedule as never));
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }

  /**
   * Replaces exactly what was found. When somebody else was faster Temporal does nothing and does not say so: look
   * again. The SDK's own update knows no such condition.
   */
  async replace({ described: { schedule, conflictToken } }: KnownSchedule, wanted: WantedSchedule): Promise<void> {
    const { automationId, expressions, timezone, paused } = wanted;
    const request = {
      namespace: this.#client.options.namespace,
      identity: this.#client.options.identity,
      requestId: randomUUID(),
      scheduleId: scheduleId(automationId),
      conflictToken: conflictToken!,
      schedule: {
        ...schedule,
        spec: { cronString: expressions, timezoneName: timezone },
        action: {
          startWorkflow: {
            ...schedule!.action!.startWorkflow,
            input: { payloads: [defaultPayloadConverter.toPayload(argsOf(wanted))] },
          },
        },
        state: { ...schedule!.state, paused },
      },
    };
    await this.#within(() => this.#client.workflowService.updateSchedule(request));
  }

  /** Harmless when there is none. */
  async remove(automationId: string): Promise<void> {
    try {
      await this.#within(() => this.#handle(automationId).delete());
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
  }

  #handle(automationId: string) {
    return this.#client.schedule.getHandle(scheduleId(automationId));
  }

  #within<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.#client.withDeadline(Date.now() + callMs, call);
  }
}
