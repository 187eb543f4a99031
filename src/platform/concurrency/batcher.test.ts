import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Batcher, type BatchLimits, retryIndividually } from './batcher.ts';

const settled = async <T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> =>
  (await Promise.allSettled([promise]))[0]!;

/** Work whose batches end when the test says so. */
function newWork(limits: BatchLimits<number>) {
  const batcher = new Batcher<number, string>(limits);
  const batches: { items: number[]; end: (error?: Error) => void }[] = [];
  const work = (items: number[]) =>
    new Promise<PromiseSettledResult<string>[]>((resolve, reject) => {
      const end = (error?: Error) => {
        if (error) reject(error);
        else {
          const of = (item: number) => (item < 0 ? Promise.reject(item) : Promise.resolve(`done ${item}`));
          resolve(Promise.allSettled(items.map(of)));
        }
      };
      batches.push({ items, end });
    });
  return { batcher, batches, run: (key: string, item: number) => settled(batcher.run(key, item, work)) };
}

const rounds = async () => {
  for (let n = 0; n < 5; n++) await yieldToEventLoop();
};

test('items that come together are done together, up to a limit, and those that come later go into the next batch', async () => {
  const { batches, run } = newWork({ maxConcurrent: 2, weightOf: () => 1 / 3 });
  const asked = [1, 2, -3, 4, 5, 6, 7].map((item) => run('one', item));
  const other = run('other', 8);
  await rounds();
  expect(batches.map(({ items }) => items)).toEqual([[1, 2, -3], [4, 5, 6], [8]]);
  batches[0]!.end();
  await rounds();
  expect(batches.map(({ items }) => items).at(-1)).toEqual([7]);
  for (const { end } of batches) end();
  const fulfilled = (item: number) => ({ status: 'fulfilled', value: `done ${item}` });
  expect(await Promise.all(asked)).toEqual(
    [1, 2, -3, 4, 5, 6, 7].map((item) => (item < 0 ? { status: 'rejected', reason: item } : fulfilled(item))),
  );
  expect(await other).toEqual(fulfilled(8));
});

test('a batch that fails fails its items alone, and the number of those that wait is bounded', async () => {
  const { batcher, batches, run } = newWork({ maxConcurrent: 1, weightOf: () => 1, maxWaiting: 2 });
  const asked = [run('one', 1)];
  await rounds();
  asked.push(run('one', 2), run('one', 3));
  expect([batcher.canEnqueue('one'), batcher.canEnqueue('other')]).toEqual([false, true]);
  const error = new Error('no database');
  batches[0]!.end(error);
  await rounds();
  expect(batcher.canEnqueue('one')).toBe(true);
  batches[1]!.end();
  await rounds();
  batches[2]!.end();
  expect(await Promise.all(asked)).toEqual([
    { status: 'rejected', reason: error },
    { status: 'fulfilled', value: 'done 2' },
    { status: 'fulfilled', value: 'done 3' },
  ]);
});

test('no batch is larger than allowed, but that of one large item', async () => {
  const { batches, run } = newWork({ maxConcurrent: 1, weightOf: (item) => item / 100 });
  const asked = [60, 40, 30, 250, 1].map((item) => run('one', item));
  for (const items of [[60, 40], [30], [250], [1]]) {
    await rounds();
    expect(batches.at(-1)!.items).toEqual(items);
    batches.at(-1)!.end();
  }
  expect(await Promise.all(asked)).toHaveLength(5);
});

test('an item that cannot be done fails alone; while the database is unavailable all do', async () => {
  const tried: (readonly string[])[] = [];
  const work = async (items: readonly string[]) => {
    tried.push(items);
    if (items.includes('gone')) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
    if (items.includes('bad')) throw new Error('bad');
    return items;
  };
  const outcomes = async (...items: string[]) => (await retryIndividually(items, work)).map(({ status }) => status);
  expect(await outcomes('good', 'bad', 'fine')).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(tried).toEqual([['good', 'bad', 'fine'], ['good'], ['bad'], ['fine']]);
  expect(await outcomes('good', 'gone')).toEqual(['rejected', 'rejected']);
  expect(tried).toHaveLength(5);
});
