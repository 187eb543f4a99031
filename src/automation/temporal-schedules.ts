import { randomUUID } from 'node:crypto';
import { ScheduleAlreadyRunning, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { TemporalClient } from '../temporal/client.ts';
import {
  automationWorkflows,
  type ScheduledRunArgs,
  scheduleGraceMs,
  scheduleId,
} from '../temporal/contracts/automation.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { attributesOf } from '../temporal/search-attributes.ts';

/** Callers wait for the answer; the outbox repeats what fails. Every call below ends within this time. */
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

const within = <Result>({ client }: TemporalClient, call: () => Promise<Result>): Promise<Result> =>
  client.withDeadline(Date.now() + callMs, call);

const handleOf = ({ client }: TemporalClient, automationId: string) =>
  client.schedule.getHandle(scheduleId(automationId));

/** The Temporal Schedule of a workflow, if it has one. */
export async function findTemporalSchedule(
  temporal: TemporalClient,
  automationId: string,
): Promise<KnownSchedule | undefined> {
  try {
    const { action, info, raw } = await within(temporal, () => handleOf(temporal, automationId).describe());
    const [carried] = (action.args ?? []) as (ScheduledRunArgs | undefined)[];
    return { revision: carried?.revision, nextTimes: info.nextActionTimes, described: raw };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** Leaves one alone that is there by now. */
export async function createTemporalSchedule(temporal: TemporalClient, wanted: WantedSchedule): Promise<void> {
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
      workflowType: automationWorkflows.startScheduledRun,
      workflowId: id,
      taskQueue: temporal.taskQueue(queues.runs),
      args: [argsOf(wanted)],
      // Counted from the firing, so that it holds for an operator's backfill of times long past too.
      workflowExecutionTimeout: scheduleGraceMs,
      typedSearchAttributes,
    },
  } as const;
  try {
    await within(temporal, () => temporal.client.schedule.create(schedule as never));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/**
 * Replaces exactly what was found. When another process was faster, Temporal does nothing and does not say so: look
 * again. The SDK's own update knows no such condition.
 */
export async function replaceTemporalSchedule(
  temporal: TemporalClient,
  { described: { schedule, conflictToken } }: KnownSchedule,
  wanted: WantedSchedule,
): Promise<void> {
  const { automationId, expressions, timezone, paused } = wanted;
  const { options, workflowService } = temporal.client;
  const request = {
    namespace: options.namespace,
    identity: options.identity,
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
  await within(temporal, () => workflowService.updateSchedule(request));
}

/** Harmless when there is none. */
export async function removeTemporalSchedule(temporal: TemporalClient, automationId: string): Promise<void> {
  try {
    await within(temporal, () => handleOf(temporal, automationId).delete());
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}
