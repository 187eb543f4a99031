import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions,
} from '@temporalio/client';
import {
  compileScheduleOptions,
  encodeScheduleAction,
  encodeScheduleSpec,
} from '@temporalio/client/lib/schedule-helpers.js';
import { TypedSearchAttributes } from '@temporalio/common';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from './client.ts';
import { type Priority, priorities } from './contracts/priorities.ts';
import type { Queue } from './contracts/queues.ts';
import { attributesOf } from './search-attributes.ts';

/** A Temporal Schedule as it is to be: it starts a workflow again and again. */
export interface WantedSchedule {
  /** Also the beginning of the ids of its workflows, and the correlation id of their work. */
  id: string;
  /** `{}`: only an operator starts it, with its Trigger button. */
  spec: ScheduleOptions['spec'];
  /** Whether the interval of `spec` replaces one that an operator chose. */
  keepsInterval: boolean;
  policies: ScheduleOptions['policies'];
  workflowType: string;
  queue: Queue;
  args: object[];
  priority: { priorityKey: Priority; fairnessKey: string };
  /** A run that no worker finishes must not keep the next one from starting for longer than this. */
  limit: { workflowExecutionTimeout: number } | { workflowRunTimeout: number };
  /** The row that it belongs to, by which operators find it and its workflows. */
  row?: { tenant: Tenant; id: string };
  paused: boolean;
  /**
   * When `paused` takes effect: at the creation of the Schedule, or whenever its action changes, or always. An
   * operator's pause stays: with `always`, it is recognized by its note.
   */
  pauses: 'when created' | 'when changed' | 'always';
  /** The note of our pause. */
  pauseNote?: string;
  /** The note at the end of our pause. */
  resumeNote?: string;
}

/** A Schedule that works for a row again and again, one run at a time, and is paused while the row waits for something. */
interface ScheduleOfRow extends Pick<WantedSchedule, 'id' | 'workflowType' | 'queue' | 'paused'> {
  row: NonNullable<WantedSchedule['row']>;
  everyMs: number;
  args: object;
  maxRunMs: number;
  pauseNote: string;
  resumeNote: string;
}

export const everyFor = ({ everyMs, args, maxRunMs, ...schedule }: ScheduleOfRow): WantedSchedule => ({
  ...schedule,
  args: [args],
  spec: { intervals: [{ every: everyMs }], jitter: Math.floor(everyMs / 3) },
  keepsInterval: true,
  // However many are requested while one runs, one more follows it.
  policies: { overlap: 'BUFFER_ONE', catchupWindow: '1 minute' },
  priority: { priorityKey: priorities.background, fairnessKey: schedule.row.tenant.organizationId },
  limit: { workflowExecutionTimeout: maxRunMs },
  pauses: 'always',
});

export interface KeptSchedule {
  wanted: WantedSchedule;
  known: ScheduleDescription;
}

/** Callers wait for some of these calls; the outbox repeats what fails. */
const usualCallMs = 3_000;

const within = <Result>({ client }: TemporalClient, call: () => Promise<Result>, callMs = usualCallMs) =>
  client.withDeadline(Date.now() + callMs, call);

const handleOf = ({ client }: TemporalClient, id: string): ScheduleHandle => client.schedule.getHandle(id);

/** Makes a call, unless there is no such Schedule. */
async function ifFound<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** @returns undefined where there is none */
export const describeSchedule = (
  temporal: TemporalClient,
  id: string,
  callMs?: number,
): Promise<ScheduleDescription | undefined> =>
  ifFound(() => within(temporal, () => handleOf(temporal, id).describe(), callMs));

/** Starts a run now, or after the one that runs. A no-op if the Schedule does not exist. */
export const triggerSchedule = (temporal: TemporalClient, id: string): Promise<void> =>
  ifFound(() => within(temporal, () => handleOf(temporal, id).trigger('BUFFER_ONE')));

/** Does nothing where there is no such Schedule. */
export const deleteSchedule = (temporal: TemporalClient, id: string): Promise<unknown> =>
  ifFound(() => within(temporal, () => handleOf(temporal, id).delete()));

function optionsOf(temporal: TemporalClient, wanted: WantedSchedule) {
  const { id, row, spec, policies, workflowType, args, queue, priority, limit } = wanted;
  const attributes = row && { typedSearchAttributes: attributesOf(row.tenant.organizationId, row.id, id) };
  return {
    scheduleId: id,
    spec,
    ...(policies && { policies }),
    ...attributes,
    action: {
      type: 'startWorkflow',
      workflowType,
      workflowId: id,
      taskQueue: temporal.taskQueue(queue),
      args,
      priority,
      ...limit,
      ...attributes,
    },
  } as const;
}

/** Creates a Schedule, unless another process has created it. */
async function createSchedule(temporal: TemporalClient, wanted: WantedSchedule, callMs?: number): Promise<void> {
  const { paused, pauseNote: note } = wanted;
  // Not `triggerImmediately`: such a run does not count as running, so that one requested in the same second would
  // start in parallel, under the same id, and be lost.
  const state = { paused, ...(paused && note !== undefined && { note }) };
  try {
    await within(temporal, () => temporal.client.schedule.create({ ...optionsOf(temporal, wanted), state }), callMs);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/** Whether the workflows of a Schedule have these search attributes, which earlier versions gave them fewer of. */
function hasAttributes(
  { typedSearchAttributes: known }: ScheduleDescription['action'],
  wanted: ReturnType<typeof attributesOf> | undefined,
): boolean {
  if (!wanted) return true;
  return known instanceof TypedSearchAttributes && wanted.every(({ key, value }) => known.get(key) === value);
}

/** Whether a Schedule has the wanted action. */
function isCurrent(temporal: TemporalClient, { action, spec }: ScheduleDescription, wanted: WantedSchedule): boolean {
  const { spec: wantedSpec, action: wantedAction } = optionsOf(temporal, wanted);
  const everyOf = ({ intervals }: { intervals?: { every: unknown }[] }) => intervals?.[0]?.every;
  return (
    (!wanted.keepsInterval || everyOf(spec) === everyOf(wantedSpec)) &&
    action.taskQueue === wantedAction.taskQueue &&
    action.priority?.priorityKey === wantedAction.priority.priorityKey &&
    hasAttributes(action, wantedAction.typedSearchAttributes) &&
    isDeepStrictEqual(action.args ?? [], JSON.parse(JSON.stringify(wanted.args)))
  );
}

/** The pause that a Schedule should have; undefined if it should not change. */
function pauseOf(
  { state }: ScheduleDescription,
  { paused, pauses, pauseNote, resumeNote }: WantedSchedule,
  isChanged: boolean,
): { paused: boolean; notes?: string } | undefined {
  if (pauses === 'when created' || paused === state.paused) return undefined;
  if (pauses === 'when changed') return isChanged ? { paused } : undefined;
  if (paused) return { paused, notes: pauseNote! };
  return state.note === pauseNote ? { paused, notes: resumeNote! } : undefined;
}

/**
 * Replaces a Schedule if it is unchanged since it was described. Otherwise Temporal ignores the request without an error:
 * describe it again. The SDK's update has no such condition.
 */
async function replaceSchedule(
  temporal: TemporalClient,
  { raw: { schedule, conflictToken } }: ScheduleDescription,
  wanted: WantedSchedule,
  pause: ReturnType<typeof pauseOf>,
): Promise<void> {
  const { options, workflowService } = temporal.client;
  const { action } = compileScheduleOptions(optionsOf(temporal, wanted));
  const headers = schedule!.action!.startWorkflow!.header?.fields ?? {};
  const request = {
    namespace: options.namespace,
    identity: options.identity,
    requestId: randomUUID(),
    scheduleId: wanted.id,
    conflictToken: conflictToken!,
    schedule: {
      ...schedule,
      spec: encodeScheduleSpec(wanted.spec),
      action: await encodeScheduleAction(options.loadedDataConverter, options.namespace, action, headers),
      state: { ...schedule!.state, ...pause },
    },
  };
  await within(temporal, () => workflowService.updateSchedule(request));
}

/** Replaces only the pause, under the same condition. */
async function changePause(
  temporal: TemporalClient,
  { raw: { schedule, conflictToken } }: ScheduleDescription,
  scheduleId: string,
  pause: NonNullable<ReturnType<typeof pauseOf>>,
): Promise<void> {
  const { options, workflowService } = temporal.client;
  const { namespace, identity } = options;
  const changed = { ...schedule, state: { ...schedule!.state, ...pause } };
  const request = {
    namespace,
    identity,
    requestId: randomUUID(),
    scheduleId,
    conflictToken: conflictToken!,
    schedule: changed,
  };
  await within(temporal, () => workflowService.updateSchedule(request));
}

const maxLooks = 10;

/**
 * Makes a Schedule match its wanted state, also when several processes do so at the same time. Harmless to repeat. The
 * wanted state is read after the Schedule, and a Schedule is replaced only if it is unchanged since: an older state
 * never replaces a newer one. If a process dies while another creates and deletes, its outbox entry repeats the work.
 * @param wantedNow what its row says; undefined where there is to be no Schedule
 * @returns the Schedule; undefined where there is none
 */
export async function keepSchedule(
  temporal: TemporalClient,
  id: string,
  wantedNow: () => WantedSchedule | undefined | Promise<WantedSchedule | undefined>,
  callMs?: number,
): Promise<KeptSchedule | undefined> {
  for (let look = 0; look < maxLooks; look++) {
    const known = await describeSchedule(temporal, id, callMs);
    const wanted = await wantedNow();
    if (!wanted) {
      if (!known) return undefined;
      await deleteSchedule(temporal, id);
    } else if (!known) {
      await createSchedule(temporal, wanted, callMs);
    } else {
      const isChanged = !isCurrent(temporal, known, wanted);
      const pause = pauseOf(known, wanted, isChanged);
      if (isChanged) await replaceSchedule(temporal, known, wanted, pause);
      else if (pause) await changePause(temporal, known, id, pause);
      else return { wanted, known };
    }
  }
  throw new Error(`The Schedule ${id} keeps changing.`);
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
interface ScheduledRows<Row extends Tenant & { id: string }> {
  idOf(rowId: string): string;
  /** In the order of their ids. @param after a uuid */
  page(after: string, limit: number): Promise<Row[]>;
  /** Makes the Schedule of a row. */
  restore(row: Row): Promise<void>;
}

/** Creates again the Schedules that an operator deleted. Safe to call concurrently. @returns whose they are */
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
