import { expect, test } from '@jest/globals';
import { ScheduleNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { TemporalClient } from './client.ts';
import { queues } from './contracts/queues.ts';
import { type KeptSchedule, keepAsRow } from './kept-schedules.ts';
import { attributesOf } from './search-attributes.ts';

/** A Temporal server with one Schedule, whose changes a test can hold back. */
function serverOf(hold: (what: string) => Promise<void>) {
  let kept: { state: { paused: boolean; note?: string } } | undefined;
  const change = async (what: string, make: () => void) => {
    await hold(what);
    make();
  };
  const pause = (paused: boolean) => (note: string) =>
    change(paused ? 'pause' : 'unpause', () => {
      kept = { state: { paused, note } };
    });
  const handle = {
    async describe() {
      if (!kept) throw new ScheduleNotFoundError('There is none.', 'one');
      const { id, everyMs, queue, args, tenant, resourceId } = wanted(false);
      const typedSearchAttributes = new TypedSearchAttributes(attributesOf(tenant.organizationId, resourceId, id));
      const action = { taskQueue: queue.name, args: [args], typedSearchAttributes };
      return { ...kept, spec: { intervals: [{ every: everyMs }] }, action };
    },
    pause: pause(true),
    unpause: pause(false),
    delete: () =>
      change('delete', () => {
        kept = undefined;
      }),
  };
  const temporal = {
    taskQueue: ({ name }: { name: string }) => name,
    client: {
      withDeadline: (_: number, call: () => Promise<unknown>) => call(),
      schedule: {
        getHandle: () => handle,
        create: ({ state }: { state: { paused: boolean; note?: string } }) =>
          change('create', () => {
            kept = { state };
          }),
      },
    },
  } as unknown as TemporalClient;
  return { temporal, paused: () => kept?.state.paused };
}

const wanted = (paused: boolean): KeptSchedule => ({
  id: 'one',
  tenant: { organizationId: '0198a3c2-0000-7000-8000-000000000000', environment: 'live' },
  resourceId: '0198a3c2-0000-7000-8000-000000000001',
  everyMs: 60_000,
  workflowType: 'follow',
  queue: queues.integrations,
  args: { of: 'one' },
  maxRunMs: 1_000,
  paused,
  pauseNote: 'No access.',
  resumeNote: 'Access again.',
});

test.each([
  ['pause', wanted(true), wanted(false), false],
  ['unpause', wanted(false), wanted(true), true],
  ['create', wanted(false), undefined, undefined],
  ['delete', undefined, wanted(false), false],
] as const)(
  'who is slow to %s a Schedule, as its row wanted before, mends it afterwards',
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
    // As the later state says, unless it is to be made.
    if (slow !== 'create') await keepAsRow(server.temporal, 'one', async () => later);
    let row: KeptSchedule | undefined = earlier;
    isSlow = true;
    const slower = keepAsRow(server.temporal, 'one', async () => row);
    await reached.promise;
    row = later;
    expect(await keepAsRow(server.temporal, 'one', async () => row)).toEqual(later);
    held.resolve();
    expect(await slower).toEqual(later);
    expect(server.paused()).toBe(paused);
  },
);
