import { isDeepStrictEqual } from 'node:util';
import {
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from './client.ts';
import { priorities } from './contracts/priorities.ts';
import type { Queue } from './contracts/queues.ts';
import { attributesOf } from './search-attributes.ts';

/** A Temporal Schedule that stands for a row: it starts a workflow for it, again and again. */
export interface KeptSchedule {
  /** Also that of the workflows, with the time they were due at, and the correlation id of their work. */
  id: string;
  tenant: Tenant;
  /** The id of the row. */
  resourceId: string;
  everyMs: number;
  workflowType: string;
  queue: Queue;
  args: object;
  /** A run that no worker finishes must not keep the next one from starting for longer than this. */
  maxRunMs: number;
  /** Whether its row waits for something. */
  paused: boolean;
  /** What we pause it with; a pause with another note is an operator's, and stays. */
  pauseNote: string;
  /** What we end our pause with. */
  resumeNote: string;
}

/** Every call ends within this time; the outbox repeats what fails. */
const callMs = 5_000;

const within = <Result>({ client }: TemporalClient, call: () => Promise<Result>): Promise<Result> =>
  client.withDeadline(Date.now() + callMs, call);

const handleOf = ({ client }: TemporalClient, id: string): ScheduleHandle => client.schedule.getHandle(id);

/** Does what `call` does, unless there is no such Schedule. */
async function ifThere<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** @returns undefined where there is none */
export const describeSchedule = (temporal: TemporalClient, id: string): Promise<ScheduleDescription | undefined> =>
  ifThere(() => within(temporal, () => handleOf(temporal, id).describe()));

/** Starts a run now, or after the one that runs. Nothing where there is no such Schedule. */
export const triggerSchedule = (temporal: TemporalClient, id: string): Promise<void> =>
  ifThere(() => within(temporal, () => handleOf(temporal, id).trigger('BUFFER_ONE')));

const deleteSchedule = (temporal: TemporalClient, id: string): Promise<unknown> =>
  ifThere(() => within(temporal, () => handleOf(temporal, id).delete()));

function optionsOf(temporal: TemporalClient, wanted: KeptSchedule) {
  const { id, tenant, resourceId, everyMs, workflowType, queue, args, maxRunMs } = wanted;
  const typedSearchAttributes = attributesOf(tenant.organizationId, resourceId, id);
  return {
    spec: { intervals: [{ every: everyMs }], jitter: Math.floor(everyMs / 3) },
    // However many are requested while one runs, one more follows it.
    policies: { overlap: 'BUFFER_ONE', catchupWindow: '1 minute' },
    typedSearchAttributes,
    action: {
      type: 'startWorkflow',
      workflowType,
      workflowId: id,
      taskQueue: temporal.taskQueue(queue),
      args: [args],
      priority: { priorityKey: priorities.background, fairnessKey: tenant.organizationId },
      workflowExecutionTimeout: maxRunMs,
      typedSearchAttributes,
    },
  } as const;
}

/** Whether the workflows of a Schedule have these search attributes, which earlier versions gave them fewer of. */
function hasAttributes(
  { typedSearchAttributes: known }: ScheduleDescription['action'],
  wanted: ReturnType<typeof attributesOf>,
): boolean {
  return known instanceof TypedSearchAttributes && wanted.every(({ key, value }) => known.get(key) === value);
}

/** Whether a Schedule starts what this installation is configured for. */
function isCurrent({ spec, action }: ScheduleDescription, wanted: ReturnType<typeof optionsOf>): boolean {
  const [interval] = spec.intervals ?? [];
  const { args, taskQueue, typedSearchAttributes } = wanted.action;
  return (
    interval?.every === wanted.spec.intervals[0]!.every &&
    action.taskQueue === taskQueue &&
    hasAttributes(action, typedSearchAttributes) &&
    isDeepStrictEqual(action.args ?? [], JSON.parse(JSON.stringify(args)))
  );
}

/** Makes a Schedule as it is wanted, whatever it is. */
async function keepSchedule(temporal: TemporalClient, wanted: KeptSchedule): Promise<void> {
  const { id, paused, pauseNote, resumeNote } = wanted;
  const known = await describeSchedule(temporal, id);
  const options = optionsOf(temporal, wanted);
  if (!known) {
    // Not `triggerImmediately`: such a run does not count as running, so that one asked for in the same second would start
    // beside it, under the same id, and be lost.
    const state = { paused, ...(paused && { note: pauseNote }) };
    try {
      await within(temporal, () => temporal.client.schedule.create({ scheduleId: id, ...options, state } as never));
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
    return;
  }
  const handle = handleOf(temporal, id);
  if (!isCurrent(known, options)) {
    await within(temporal, () =>
      handle.update((previous) => ({ ...previous, spec: options.spec, action: options.action }) as never),
    );
  }
  if (paused && !known.state.paused) await within(temporal, () => handle.pause(pauseNote));
  if (!paused && known.state.paused && known.state.note === pauseNote) {
    await within(temporal, () => handle.unpause(resumeNote));
  }
}

const maxLooks = 10;

/**
 * Makes a Schedule as its row says, also when several processes do so at the same time. Harmless to repeat. An operator's
 * pause stays. The row is read again after each change: who read it before another change, and is slower, mends what it did.
 * @param wantedNow what the row says; undefined where there is to be no Schedule
 * @returns what it said last
 */
export async function keepAsRow(
  temporal: TemporalClient,
  id: string,
  wantedNow: () => Promise<KeptSchedule | undefined>,
): Promise<KeptSchedule | undefined> {
  let wanted = await wantedNow();
  for (let look = 0; look < maxLooks; look++) {
    await (wanted ? keepSchedule(temporal, wanted) : deleteSchedule(temporal, id));
    const now = await wantedNow();
    if (isDeepStrictEqual(now, wanted)) return now;
    wanted = now;
  }
  throw new Error(`The row of the Schedule ${id} keeps changing.`);
}

const listMs = 30_000;
const perPage = 1_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/** What follows the prefix in the ids of Schedules, as Temporal lists them: the list may be some seconds old. */
function listSchedules({ client }: TemporalClient, prefix: string): Promise<ReadonlySet<string>> {
  return client.withDeadline(Date.now() + listMs, async () => {
    const ids = new Set<string>();
    for await (const { scheduleId: id } of client.schedule.list({ pageSize: perPage })) {
      if (id.startsWith(prefix)) ids.add(id.slice(prefix.length));
    }
    return ids;
  });
}

/** The rows of a table that have Schedules. */
export interface ScheduledRows<Row extends Tenant & { id: string }> {
  idOf(rowId: string): string;
  /** In the order of their ids. @param after a uuid */
  page(after: string, limit: number): Promise<Row[]>;
  /** Makes the Schedule of a row. */
  restore(row: Row): Promise<void>;
}

/** Makes again the Schedules that an operator deleted. Safe to call concurrently. @returns whose they are */
export async function restoreSchedules<Row extends Tenant & { id: string }>(
  temporal: TemporalClient,
  { idOf, page, restore }: ScheduledRows<Row>,
): Promise<Row[]> {
  const restored: Row[] = [];
  let listed: ReadonlySet<string> | undefined;
  for (let after = beforeAll; ; ) {
    const rows = await page(after, perPage);
    if (rows.length === 0) return restored;
    listed ??= await listSchedules(temporal, idOf(''));
    for (const row of rows) {
      if (listed.has(row.id) || (await describeSchedule(temporal, idOf(row.id)))) continue;
      await restore(row);
      restored.push(row);
    }
    after = rows.at(-1)!.id;
  }
}
