import { getPriority } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Behaviour } from '../../../test/platform/bounded-task.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { until } from '../../../test/until.ts';
import { openLog } from '../observability/log.ts';
import { BoundedWork } from './bounded-work.ts';
import { WorkProcess } from './child-process.ts';
import { type BoundedTask, WorkQueueFull, WorkTooCostly } from './task.ts';

type Args = { behaviour: Behaviour; value?: unknown };
const limitMs = 200;
/** Processes have a low priority: on a busy machine one that is replaced may take long to start. */
const waitMs = 60_000;
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
    work.run(task, tenantKeyOf(organizationId), { behaviour, value: 1 }, { waitMs });

  test('gives what the task gives', async () => {
    for (const value of ['text', 1.5, null, true, { list: [1, { deep: 'ü' }] }]) {
      expect(await work.run(task, tenantKeyOf('one'), { behaviour: 'answer', value }, { waitMs })).toEqual(value);
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
    await expect(work.run(swelling, tenantKeyOf('one'), { behaviour: 'swell' }, { waitMs })).rejects.toMatchObject({
      limit: 'memory',
    });
    expect(await run('answer')).toBe(1);
  });

  test('a task that did not have the processor for as long as it may has more time, and is given back in the end', async () => {
    const clockLimits = [1, 4, 25].map((times) => (milliseconds: number) => milliseconds * times);
    const patient = new BoundedWork({ log: openLog('error', 'test'), tasks: [task], clockLimits });
    const rest = (limits: number) =>
      patient.run(task, tenantKeyOf('one'), { behaviour: 'rest', value: limitMs * limits }, { waitMs });
    /** On a busy machine it may have no processor for longer than it rests, and is given back. */
    const rested = (limits: number) =>
      until('it has rested', () =>
        rest(limits).catch((error) => {
          if (!(error instanceof WorkQueueFull)) throw error;
        }),
      );
    try {
      expect(await rested(2)).toBe(limitMs * 2);
      expect(await rested(6)).toBe(limitMs * 6);
      await expect(rest(60)).rejects.toBeInstanceOf(WorkQueueFull);
    } finally {
      patient.close();
    }
  });

  test('has no more of the processor for that, whatever time is left by the clock', async () => {
    const isReady = Promise.withResolvers<void>();
    const one = new WorkProcess([task.module], { ready: isReady.resolve, end: () => {} });
    await isReady.promise;
    const began = performance.now();
    // Many times what a busy machine takes to give a process of low priority the processor for so long.
    const clockMs = 60_000;
    const args = JSON.stringify({ behaviour: 'spin' });
    await expect(one.perform({ module: task.module, limitMs, clockMs, args, resultAs: 'text' })).rejects.toThrow(
      /too long/,
    );
    expect(performance.now() - began).toBeLessThan(clockMs * 0.8);
  });

  test('a task whose process had no processor to cut it short is not too costly, and is performed again', async () => {
    const isReady = Promise.withResolvers<void>();
    const one = new WorkProcess([task.module], { ready: isReady.resolve, end: () => {} });
    await isReady.promise;
    const assignment = { module: task.module, limitMs, clockMs: limitMs, resultAs: 'text' } as const;
    const args = JSON.stringify({ behaviour: 'halt', value: 10 });
    expect(await one.perform({ ...assignment, args })).toEqual({ kind: 'starved', spent: true });
  });

  test('gives its result as a text or as bytes, with the same limit', async () => {
    const answerOf = (value: unknown) => JSON.stringify({ behaviour: 'answer', value });
    const key = tenantKeyOf('one');
    expect(await work.runAsText(task, key, answerOf(1), { waitMs })).toBe('1');
    expect(await work.runAsBytes(task, key, answerOf(1), { waitMs })).toEqual(Buffer.from('1'));
  });

  test('leaves the processor to other work', async () => {
    expect(await run('priority')).toBeGreaterThan(getPriority());
  });

  test('does not hold the event loop', async () => {
    await run('answer');
    const pause = await measureMaxPause(() => Promise.allSettled([run('spin'), run('grow'), run('allocate')]));
    // On the event loop the first of them would never end.
    expect(pause).toBeLessThan(60_000);
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
    // A process is left for the others, and replaced processes come back: no one else waits for the greedy one's queue.
    // Where a busy machine had no processor for a process, it may look otherwise once.
    await until('no one waits for the greedy one', async () => {
      const both = open();
      const runOf = (behaviour: Behaviour, organizationId: string) =>
        both.run(task, tenantKeyOf(organizationId), { behaviour, value: 1 }, { waitMs });
      let finished = 0;
      const greedy = Promise.allSettled(
        Array.from({ length: 10 }, () => runOf('spin', 'greedy').finally(() => finished++)),
      );
      // The first of them has a process started beside it.
      await runOf('answer', 'modest');
      let maxFinished = 0;
      for (let times = 0; times < 5; times++) {
        const before = finished;
        expect(await runOf('answer', 'modest')).toBe(1);
        maxFinished = Math.max(maxFinished, finished - before);
      }
      const all = finished;
      both.close();
      for (const { status } of await greedy) expect(status).toBe('rejected');
      return maxFinished <= 2 && all < 10;
    });
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

  test('a process that cannot even be begun is tried again, and what waits for it goes on waiting', async () => {
    // No process has such an argument: Node refuses to begin one.
    const impossible = { module: '\0', limitMs };
    const other = new BoundedWork({ log: openLog('fatal', 'test'), tasks: [impossible], processes: 2 });
    const run = (waitMs: number) => other.run(impossible, tenantKeyOf('one'), {}, { waitMs });
    const waiting = run(60_000).catch((error) => error);
    await expect(run(1)).rejects.toThrow('The work waited too long.');
    other.close();
    expect(await waiting).toBeInstanceOf(WorkQueueFull);
  });

  test('closing gives back what waits and what runs', async () => {
    const closed = open();
    // Starts a process, so that one of those that follow runs at once.
    expect(await closed.run(task, tenantKeyOf('one'), { behaviour: 'answer', value: 1 })).toBe(1);
    const endless = { ...task, limitMs: 60_000 };
    const given = Array.from({ length: 5 }, () =>
      closed.run(endless, tenantKeyOf('one'), { behaviour: 'never' }, { waitMs: 60_000 }).catch((error) => error),
    );
    closed.close();
    for (const failure of await Promise.all(given)) expect(failure).toBeInstanceOf(WorkQueueFull);
    await expect(closed.run(task, tenantKeyOf('one'), { behaviour: 'answer' })).rejects.toBeInstanceOf(WorkQueueFull);
  });

  test('closing gives back a task whose process has just asked for more time', async () => {
    const closed = open();
    expect(await closed.run(task, tenantKeyOf('one'), { behaviour: 'answer', value: 1 })).toBe(1);
    const starved = closed.run(task, tenantKeyOf('one'), { behaviour: 'rest', value: 60_000 });
    // This thread reads the answer of the process only after it has closed the pool.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
    closed.close();
    await expect(starved).rejects.toBeInstanceOf(WorkQueueFull);
  });
});
