import { expect, test } from '@jest/globals';
import { ScheduleNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { TemporalClient } from './client.ts';
import { queues } from './contracts/queues.ts';
import { everyFor, keepSchedule, type WantedSchedule } from './schedules.ts';
import { attributesOf } from './search-attributes.ts';

interface State {
  paused: boolean;
  note?: string;
}

const organizationId = '0198a3c2-0000-7000-8000-000000000000';
const rowId = '0198a3c2-0000-7000-8000-000000000001';

const wanted = (paused: boolean): WantedSchedule =>
  everyFor({
    id: 'one',
    row: { tenant: { organizationId, environment: 'live' }, id: rowId },
    everyMs: 60_000,
    workflowType: 'follow',
    queue: queues.integrations,
    args: { of: 'one' },
    maxRunMs: 1_000,
    paused,
    pauseNote: 'No access.',
    resumeNote: 'Access again.',
  });

/** A Temporal server with one Schedule, whose changes a test can hold back. */
function serverOf(hold: (what: string) => Promise<void>) {
  let kept: State | undefined;
  let version = 0;
  const change = async (what: string, next: State | undefined) => {
    await hold(what);
    kept = next;
    version += 1;
  };
  const handle = {
    async describe() {
      if (!kept) throw new ScheduleNotFoundError('There is none.', 'one');
      const { spec, queue, args, priority } = wanted(false);
      const typedSearchAttributes = new TypedSearchAttributes(attributesOf(organizationId, rowId, 'one'));
      const action = { taskQueue: queue.name, args, priority, typedSearchAttributes };
      const raw = { schedule: { state: { paused: kept.paused, notes: kept.note } }, conflictToken: version };
      return { state: kept, spec, action, raw };
    },
    delete: () => change('delete', undefined),
  };
  const temporal = {
    taskQueue: ({ name }: { name: string }) => name,
    client: {
      options: { namespace: 'default', identity: 'test' },
      withDeadline: (_: number, call: () => Promise<unknown>) => call(),
      schedule: {
        getHandle: () => handle,
        create: ({ state }: { state: State }) => change('create', state),
      },
      workflowService: {
        async updateSchedule({
          conflictToken,
          schedule: { state },
        }: {
          conflictToken: number;
          schedule: { state: { paused: boolean; notes: string } };
        }) {
          await hold(state.paused ? 'pause' : 'resume');
          if (conflictToken === version) await change('', { paused: state.paused, note: state.notes });
        },
      },
    },
  } as unknown as TemporalClient;
  return { temporal, state: () => kept };
}

test.each([
  ['pause', wanted(true), wanted(false), false],
  ['resume', wanted(false), wanted(true), true],
  ['create', wanted(false), undefined, undefined],
  ['delete', undefined, wanted(false), false],
] as const)(
  'who is slow to %s a Schedule, as its row wanted before, leaves it as it is wanted now',
  async (slow, earlier, later, paused) => {
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let isSlow = false;
    const server = serverOf(async (what) => {
      if (what !== slow || !isSlow) return;
      isSlow = false;
      reached.resolve();
      await held.promise;
    });
    // As the later state says, unless it is to be created.
    if (slow !== 'create') await keepSchedule(server.temporal, 'one', () => later);
    let row: WantedSchedule | undefined = earlier;
    isSlow = true;
    const slower = keepSchedule(server.temporal, 'one', () => row);
    await reached.promise;
    row = later;
    expect((await keepSchedule(server.temporal, 'one', () => row))?.wanted).toEqual(later);
    held.resolve();
    expect((await slower)?.wanted).toEqual(later);
    expect(server.state()?.paused).toBe(paused);
  },
);

test("an operator's pause stays, and ours ends with its reason", async () => {
  const { temporal, state } = serverOf(async () => {});
  await keepSchedule(temporal, 'one', () => wanted(true));
  expect(state()).toEqual({ paused: true, note: 'No access.' });
  await keepSchedule(temporal, 'one', () => wanted(false));
  expect(state()).toEqual({ paused: false, note: 'Access again.' });
  Object.assign(state()!, { paused: true, note: 'Maintenance.' });
  await keepSchedule(temporal, 'one', () => wanted(false));
  expect(state()).toEqual({ paused: true, note: 'Maintenance.' });
});
