import { isDeepStrictEqual } from 'node:util';
import { ScheduleAlreadyRunning, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import type { Database } from '../../platform/database.ts';
import { Scope } from '../../platform/scope.ts';
import { sqlOn, statement } from '../../platform/sql.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  type CalendarPolicy,
  calendarScheduleId,
  calendarWorkflows,
  type SyncCalendarArgs,
  syncLimitMs,
} from '../../temporal/contracts/calendars.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { attributesOf } from '../../temporal/search-attributes.ts';
import { isConnected } from '../core/calendar-status.ts';
import { findCalendar } from './sync-state.ts';

export interface CalendarScheduleServices {
  temporal: TemporalClient;
  calendarPolicy: CalendarPolicy;
  /** Milliseconds between two syncs. */
  calendarEveryMs: number;
}

/** Every call ends within this time; the outbox repeats what fails. */
const callMs = 5_000;

/** What we pause Schedules with; a pause with another note is an operator's, and stays. */
const pauseNote = 'There is no access to the calendar. It goes on when the calendar is connected again.';

const within = <Result>({ client }: TemporalClient, call: () => Promise<Result>): Promise<Result> =>
  client.withDeadline(Date.now() + callMs, call);

const handleOf = ({ client }: TemporalClient, calendarId: string) =>
  client.schedule.getHandle(calendarScheduleId(calendarId));

/** Does what `call` does, unless there is no such Schedule. */
async function ifThere<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

function optionsOf(
  { temporal, calendarPolicy, calendarEveryMs }: CalendarScheduleServices,
  tenant: Tenant,
  id: string,
) {
  const args: SyncCalendarArgs = {
    ...{ organizationId: tenant.organizationId, environment: tenant.environment },
    ...{ calendarId: id, policy: calendarPolicy },
  };
  const typedSearchAttributes = attributesOf(tenant.organizationId, id);
  return {
    spec: { intervals: [{ every: calendarEveryMs }], jitter: Math.floor(calendarEveryMs / 3) },
    // Of all that is asked for while one sync runs, one more follows it.
    policies: { overlap: 'BUFFER_ONE', catchupWindow: '1 minute' },
    typedSearchAttributes,
    action: {
      type: 'startWorkflow',
      workflowType: calendarWorkflows.syncCalendar,
      workflowId: calendarScheduleId(id),
      taskQueue: temporal.taskQueue(queues.calendars),
      args: [args],
      priority: { priorityKey: priorities.background, fairnessKey: tenant.organizationId },
      workflowExecutionTimeout: syncLimitMs,
      typedSearchAttributes,
    },
  } as const;
}

/** Whether a Schedule starts what this installation is configured for. */
function isCurrent({ spec, action }: ScheduleDescription, wanted: ReturnType<typeof optionsOf>): boolean {
  const [interval] = spec.intervals ?? [];
  const { args, taskQueue } = wanted.action;
  return (
    interval?.every === wanted.spec.intervals[0]!.every &&
    action.taskQueue === taskQueue &&
    isDeepStrictEqual(action.args ?? [], JSON.parse(JSON.stringify(args)))
  );
}

/**
 * Makes the Temporal Schedule of a calendar as its row says: there while the calendar is, paused while there is no access.
 * Harmless to repeat. An operator's pause stays.
 * @param sync whether a sync is to start now; also while the Schedule is paused
 */
export async function followCalendar(
  services: CalendarScheduleServices,
  scope: Scope,
  calendarId: string,
  { sync }: { sync: boolean },
): Promise<void> {
  const { temporal } = services;
  const handle = handleOf(temporal, calendarId);
  const known = await ifThere(() => within(temporal, () => handle.describe()));
  const calendar = await findCalendar(scope, calendarId);
  if (!calendar) {
    if (known) await ifThere(() => within(temporal, () => handle.delete()));
    return;
  }
  const paused = !isConnected(calendar.status);
  const options = optionsOf(services, scope.tenant, calendarId);
  if (!known) {
    // Not `triggerImmediately`: such a run does not count as running, so that one asked for in the same second would start
    // beside it, under the same id, and be lost.
    const state = { paused, ...(paused && { note: pauseNote }) };
    const create = { scheduleId: calendarScheduleId(calendarId), ...options, state };
    try {
      await within(temporal, () => temporal.client.schedule.create(create as never));
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  } else {
    if (!isCurrent(known, options)) {
      await within(temporal, () =>
        handle.update((previous) => ({ ...previous, spec: options.spec, action: options.action }) as never),
      );
    }
    if (paused && !known.state.paused) await within(temporal, () => handle.pause(pauseNote));
    if (!paused && known.state.paused && known.state.note === pauseNote) {
      await within(temporal, () => handle.unpause('The calendar was connected again.'));
    }
  }
  if (sync && !paused) await ifThere(() => within(temporal, () => handle.trigger('BUFFER_ONE')));
}

/** Starts a sync because the provider says that the calendar changed; not where an operator paused the Schedule. */
export async function triggerByPush(temporal: TemporalClient, calendarId: string): Promise<void> {
  const handle = handleOf(temporal, calendarId);
  const known = await ifThere(() => within(temporal, () => handle.describe()));
  if (known && !known.state.paused) await ifThere(() => within(temporal, () => handle.trigger('BUFFER_ONE')));
}

export interface CalendarRow extends Tenant {
  calendarId: string;
}

// In the order of the primary key, page by page. One whose change is still in the outbox is left to it.
const calendarsAfter = statement<CalendarRow>(
  'calendar.page',
  `select c.id as "calendarId", c.organization_id as "organizationId", c.environment from calendar c
    where c.id > $1
      and not exists (select from outbox where kind in ('calendar.schedule', 'calendar.sync') and subject_id = c.id)
    order by c.id limit $2`,
);

const perPage = 1_000;
const listMs = 30_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/** The calendars that have a Temporal Schedule, as Temporal lists them: the list may be some seconds old. */
function listSchedules({ client }: TemporalClient): Promise<ReadonlySet<string>> {
  const prefix = calendarScheduleId('');
  return client.withDeadline(Date.now() + listMs, async () => {
    const ids = new Set<string>();
    for await (const { scheduleId: id } of client.schedule.list({ pageSize: 1_000 })) {
      if (id.startsWith(prefix)) ids.add(id.slice(prefix.length));
    }
    return ids;
  });
}

/** Creates again the Schedules that an operator deleted. Across all tenants, and safe to call concurrently. */
export async function restoreCalendarSchedules(
  database: Database,
  services: CalendarScheduleServices,
): Promise<CalendarRow[]> {
  const sql = sqlOn(database.pool);
  const { temporal } = services;
  const restored: CalendarRow[] = [];
  let listed: ReadonlySet<string> | undefined;
  for (let after = beforeAll; ; ) {
    const page = await sql.rows(calendarsAfter, [after, perPage]);
    if (page.length === 0) return restored;
    listed ??= await listSchedules(temporal);
    for (const { calendarId, ...tenant } of page) {
      if (listed.has(calendarId)) continue;
      if (await ifThere(() => within(temporal, () => handleOf(temporal, calendarId).describe()))) continue;
      await followCalendar(services, new Scope(database, tenant, calendarScheduleId(calendarId)), calendarId, {
        sync: false,
      });
      restored.push({ calendarId, ...tenant });
    }
    after = page.at(-1)!.calendarId;
  }
}
