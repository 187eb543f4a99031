import type { ScheduleDescription } from '@temporalio/client';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  automationWorkflows,
  type ScheduledRunArgs,
  scheduleGraceMs,
  scheduleId,
} from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { deleteSchedule, describeSchedule, type WantedSchedule } from '../../temporal/schedules.ts';

export interface AutomationSchedule extends ScheduledRunArgs {
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
}

export function knownSchedule({ action, info, state: { paused } }: ScheduleDescription): KnownSchedule {
  const [carried] = (action.args ?? []) as (ScheduledRunArgs | undefined)[];
  return { revision: carried?.revision, paused, nextTimes: info.nextActionTimes };
}

/** The Temporal Schedule of a workflow, if it has one. */
export async function findTemporalSchedule(
  temporal: TemporalClient,
  automationId: string,
): Promise<KnownSchedule | undefined> {
  const described = await describeSchedule(temporal, scheduleId(automationId));
  return described && knownSchedule(described);
}

/** The Temporal Schedule of a workflow as its row wants it. Each change of the row is another revision. */
export function wantedSchedule(schedule: AutomationSchedule): WantedSchedule {
  const { organizationId, environment, automationId, revision, expressions, timezone, paused } = schedule;
  const args: ScheduledRunArgs = { organizationId, environment, automationId, revision };
  return {
    id: scheduleId(automationId),
    spec: { cronExpressions: expressions, timezone },
    keepsInterval: false,
    // Every firing starts a run, also while an earlier run is open.
    policies: { overlap: 'ALLOW_ALL', catchupWindow: scheduleGraceMs },
    workflowType: automationWorkflows.startScheduledRun,
    queue: queues.runs,
    args: [args],
    priority: { priorityKey: priorities.prompt, fairnessKey: organizationId },
    // Counted from the firing, so that it holds for an operator's backfill of times long past too.
    limit: { workflowExecutionTimeout: scheduleGraceMs },
    // The runs have correlation ids of their own, which begin with that of the Schedule.
    row: { tenant: { organizationId, environment }, id: automationId },
    paused,
    pauses: 'when changed',
  };
}

/** A no-op if the schedule does not exist. */
export const removeTemporalSchedule = (temporal: TemporalClient, automationId: string): Promise<unknown> =>
  deleteSchedule(temporal, scheduleId(automationId));
