import { randomUUID } from 'node:crypto';
import { ScheduleAlreadyRunning, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { encodeUnifiedSearchAttributes } from '@temporalio/common/lib/converter/payload-search-attributes.js';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  automationWorkflows,
  type ScheduledRunArgs,
  scheduleGraceMs,
  scheduleId,
} from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { attributesOf } from '../../temporal/search-attributes.ts';

/** Callers wait for the answer; the outbox repeats what fails. Every call below ends within this time. */
const callMs = 3_000;

export interface WantedSchedule extends ScheduledRunArgs {
  /** Cron expressions of plain numbers; a run is due when any of them matches. */
  expressions: string[];
  timezone: string;
  paused: boolean;
}

export interface KnownSchedule {
  /** Undefined when an operator changed its arguments. */
  revision: string | undefined;
  /** By a request or by an operator. */
  paused: boolean;
  nextTimes: Date[];
  described: ScheduleDescription['raw'];
}

const argsOf = ({ organizationId, environment, automationId, revision }: WantedSchedule): ScheduledRunArgs => ({
  organizationId,
  environment,
  automationId,
  revision,
});

/** The runs have correlation ids of their own, which begin with this one. */
const firingAttributes = ({ organizationId, automationId }: WantedSchedule) =>
  attributesOf(organizationId, automationId, scheduleId(automationId));

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
    const { action, info, state, raw } = await within(temporal, () => handleOf(temporal, automationId).describe());
    const [carried] = (action.args ?? []) as (ScheduledRunArgs | undefined)[];
    const { paused } = state;
    return { revision: carried?.revision, paused, nextTimes: info.nextActionTimes, described: raw };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** Time limit for listing everything in the namespace. */
const listMs = 30_000;

/** The ids of all workflows that have a Temporal Schedule, as Temporal lists them: the list may be some seconds old. */
export function listTemporalSchedules({ client }: TemporalClient): Promise<ReadonlySet<string>> {
  const prefix = scheduleId('');
  return client.withDeadline(Date.now() + listMs, async () => {
    const ids = new Set<string>();
    for await (const { scheduleId: id } of client.schedule.list({ pageSize: 1_000 })) {
      if (id.startsWith(prefix)) ids.add(id.slice(prefix.length));
    }
    return ids;
  });
}

/** Does nothing when it exists. */
export async function createTemporalSchedule(temporal: TemporalClient, wanted: WantedSchedule): Promise<void> {
  const { automationId, organizationId, expressions, timezone, paused } = wanted;
  const id = scheduleId(automationId);
  const typedSearchAttributes = firingAttributes(wanted);
  const schedule = {
    scheduleId: id,
    spec: { cronExpressions: expressions, timezone },
    // Every firing starts a run, also while an earlier run is open.
    policies: { overlap: 'ALLOW_ALL', catchupWindow: scheduleGraceMs },
    state: { paused },
    typedSearchAttributes,
    action: {
      type: 'startWorkflow',
      workflowType: automationWorkflows.startScheduledRun,
      workflowId: id,
      taskQueue: temporal.taskQueue(queues.runs),
      args: [argsOf(wanted)],
      priority: { priorityKey: priorities.prompt, fairnessKey: organizationId },
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
 * Replaces the Schedule if it is unchanged since it was found. Otherwise Temporal ignores the request without an error:
 * find it again. The SDK's update has no such condition.
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
          searchAttributes: { indexedFields: encodeUnifiedSearchAttributes(undefined, firingAttributes(wanted)) },
        },
      },
      state: { ...schedule!.state, paused },
    },
  };
  await within(temporal, () => workflowService.updateSchedule(request));
}

/** Does nothing when there is none. */
export async function removeTemporalSchedule(temporal: TemporalClient, automationId: string): Promise<void> {
  try {
    await within(temporal, () => handleOf(temporal, automationId).delete());
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}
