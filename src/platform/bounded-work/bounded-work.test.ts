import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Behaviour } from '../../../test/platform/bounded-task.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { openLog } from '../observability/log.ts';
import { BoundedWork } from './bounded-work.ts';
import { WorkProcess } from './child-process.ts';
import { type BoundedTask, WorkQueueFull, WorkTooCostly } from './task.ts';

type Args = { behaviour: Behaviour; value?: unknown };
const limitMs = 200;
const task: BoundedTask<Args, unknown> = {
  module: new URL('../../../test/platform/bounded-task.ts', import.meta.url).href,
  limitMs,
};
const open = () => new BoundedWork({ log: openLog('error', 'test'), tasks: [task], processes: 2 });

/** The longest time that the event loop of this process was held while `work` went on. */
async function measureMaxPause(work: () => Promise<unknown>): Promise<number> {
  let maxMs = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    maxMs = Math.max(maxMs, performance.now() - last);
    last = performance.now();
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return maxMs;
}

describe('bounded work', () => {
  let work: BoundedWork;
  beforeAll(() => {
    work = open();
  });
  afterAll(() => work.close());
  const run = (behaviour: Behaviour, organizationId = 'one') =>
    work.run(task, tenantKeyOf(organizationId), { behaviour, value: 1 });

  test('gives what the task gives', async () => {
    for (const value of ['text', 1.5, null, true, { list: [1, { deep: 'ü' }] }]) {
      expect(await work.run(task, tenantKeyOf('one'), { behaviour: 'answer', value })).toEqual(value);
    }
  });

  test.each<[Behaviour, RegExp]>([
    ['spin', /too long/],
    ['recur', /too long/],
    ['grow', /too (long|much memory)/],
    ['allocate', /too (long|much memory)/],
  ])('a task that would %s is given up, and the next one is performed', async (behaviour, reason) => {
    const failure = await run(behaviour).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failure).toBeInstanceOf(WorkTooCostly);
    expect(failure?.message).toMatch(reason);
    expect(await run('answer')).toBe(1);
  });

  test('a promise is awaited, for as long and with as much memory as the task may take', async () => {
    expect(await run('later')).toBe(1);
    await expect(run('never')).rejects.toMatchObject({ limit: 'time' });
    const swelling = { ...task, limitMs: 20_000, memoryMb: 300 };
    await expect(work.run(swelling, tenantKeyOf('one'), { behaviour: 'swell' })).rejects.toMatchObject({
      limit: 'memory',
    });
    expect(await run('answer')).toBe(1);
  });

  test('a task that did not have the processor for as long as it may is performed once more, with more time', async () => {
    const rested = limitMs * 2;
    expect(await work.run(task, tenantKeyOf('one'), { behaviour: 'rest', value: rested })).toBe(rested);
    await expect(work.run(task, tenantKeyOf('one'), { behaviour: 'rest', value: limitMs * 60 })).rejects.toBeInstanceOf(
      WorkTooCostly,
    );
  });

  test('has no more of the processor for that, whatever time is left by the clock', async () => {
    const isReady = Promise.withResolvers<void>();
    const one = new WorkProcess([task.module], { ready: isReady.resolve, end: () => {} });
    await isReady.promise;
    const began = performance.now();
    const clockMs = 15_000;
    const args = JSON.stringify({ behaviour: 'spin' });
    await expect(one.perform({ module: task.module, limitMs, clockMs, args })).rejects.toThrow(/too long/);
    expect(performance.now() - began).toBeLessThan(clockMs * 0.8);
  });

  test('leaves the processor to other work', async () => {
    expect(await run('priority')).toBeGreaterThan(getPriority());
  });

  test('does not hold the event loop', async () => {
    await run('answer');
    const pause = await measureMaxPause(() => Promise.allSettled([run('spin'), run('grow'), run('allocate')]));
    // On the event loop the first of them would never end.
    expect(pause).toBeLessThan(10_000);
  });

  test('a mistake in a task is its own', async () => {
    await expect(run('throw')).rejects.toThrow('a mistake in a task');
    expect(await run('answer')).toBe(1);
  });

  test('a task whose process ends is performed once more, and then given back', async () => {
    await expect(run('exit')).rejects.toThrow('ended in the midst');
    expect(await run('answer')).toBe(1);
  });

  test('one organization does not keep another waiting', async () => {
    const both = open();
    const runOf = (behaviour: Behaviour, organizationId: string) =>
      both.run(task, tenantKeyOf(organizationId), { behaviour, value: 1 });
    let finished = 0;
    const greedy = Promise.allSettled(
      Array.from({ length: 10 }, () => runOf('spin', 'greedy').finally(() => finished++)),
    );
    // The first of them has a process started beside it.
    await runOf('answer', 'modest');
    for (let times = 0; times < 5; times++) {
      const before = finished;
      expect(await runOf('answer', 'modest')).toBe(1);
      // A process is left for the others, and replaced processes come back: no one else waits for the greedy one's queue.
      expect(finished - before).toBeLessThanOrEqual(2);
    }
    expect(finished).toBeLessThan(10);
    both.close();
    for (const { status } of await greedy) expect(status).toBe('rejected');
  });

  test('lengthy tasks leave a process for the other tasks of their organization, and one for others', async () => {
    const three = new BoundedWork({ log: openLog('error', 'test'), tasks: [task], processes: 3 });
    const lengthy = { ...task, limitMs: 20_000, isLengthy: true };
    const [one, other] = [tenantKeyOf('one'), tenantKeyOf('other')];
    let ended = 0;
    const videos = Array.from({ length: 8 }, () =>
      three.run(lengthy, one, { behaviour: 'never' }, { waitMs: 60_000 }).catch(() => ended++),
    );
    const upscales = Array.from({ length: 8 }, () =>
      three.run(lengthy, other, { behaviour: 'never' }, { waitMs: 60_000 }).catch(() => ended++),
    );
    // The third process is for short tasks of any organization.
    for (const key of [one, other, tenantKeyOf('third')]) {
      expect(await three.run(task, key, { behaviour: 'answer', value: 1 }, { waitMs: 30_000 })).toBe(1);
    }
    expect(ended).toBe(0);
    three.close();
    await Promise.all([...videos, ...upscales]);
  });

  test.each([2, 4])('lengthy tasks of all organizations together leave one of %i processes', async (processes) => {
    const few = new BoundedWork({ log: openLog('error', 'test'), tasks: [task], processes });
    const lengthy = { ...task, limitMs: 20_000, isLengthy: true };
    let ended = 0;
    const names = ['one', 'two', 'three', 'four', 'five'];
    const speeches = names.map((name) =>
      few.run(lengthy, tenantKeyOf(name), { behaviour: 'never' }, { waitMs: 60_000 }).catch(() => ended++),
    );
    // Those who have a lengthy task under way, those whose task waits, and one that has none.
    for (const name of [...names, 'six']) {
      expect(await few.run(task, tenantKeyOf(name), { behaviour: 'answer', value: 1 }, { waitMs: 30_000 })).toBe(1);
    }
    expect(ended).toBe(0);
    few.close();
    await Promise.all(speeches);
  });

  test('the queue of an organization has an end, and waiting too', async () => {
    const busy = run('spin', 'crowd').catch((error) => error);
    const waiting = Array.from({ length: 600 }, () =>
      work.run(task, tenantKeyOf('crowd'), { behaviour: 'answer' }, { waitMs: 50 }),
    );
    const settled = await Promise.allSettled(waiting);
    const refused = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.length).toBeGreaterThanOrEqual(100);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(WorkQueueFull);
    expect(await busy).toBeInstanceOf(WorkTooCostly);
  });

  test('closing gives back what waits and what runs', async () => {
    const closed = open();
    const given = Array.from({ length: 5 }, () =>
      closed.run(task, tenantKeyOf('one'), { behaviour: 'spin' }).catch((error) => error),
    );
    await sleep(20);
    closed.close();
    for (const failure of await Promise.all(given)) expect(failure).toBeInstanceOf(WorkQueueFull);
    await expect(closed.run(task, tenantKeyOf('one'), { behaviour: 'answer' })).rejects.toBeInstanceOf(WorkQueueFull);
  });
});
