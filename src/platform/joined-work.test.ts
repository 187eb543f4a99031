import { expect, test } from '@jest/globals';
import { JoinedWork } from './joined-work.ts';

/** Work that ends when the test says so. */
function heldWork(atOnce: number) {
  const begun: { items: readonly number[]; end(error?: Error): void }[] = [];
  const joined = new JoinedWork<number, string>({
    ...{ atOnce, weightOf: (item) => item / 100 },
    work: (items) =>
      new Promise((resolve, reject) => {
        begun.push({ items, end: (error) => (error ? reject(error) : resolve(items.map((item) => `did ${item}`))) });
      }),
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
  return { begun, joined, turn };
}

test('what is asked for in one turn, or while work is under way, is done together, and everybody gets his own result', async () => {
  const { begun, joined, turn } = heldWork(1);
  const first = [joined.ask('a', 1), joined.ask('a', 2), joined.ask('b', 3)];
  await turn();
  expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
  const second = [joined.ask('a', 4), joined.ask('a', 5)];
  await turn();
  expect(begun).toHaveLength(2);
  for (const { end } of begun) end();
  expect(await Promise.all(first)).toEqual(['did 1', 'did 2', 'did 3']);
  await turn();
  expect(begun[2]!.items).toEqual([4, 5]);
  begun[2]!.end();
  expect(await Promise.all(second)).toEqual(['did 4', 'did 5']);
});

test('no work is heavier than allowed, but that of one heavy item, and so many are under way', async () => {
  const { begun, joined, turn } = heldWork(2);
  const asked = [60, 40, 30, 250, 1].map((item) => joined.ask('a', item));
  await turn();
  await turn();
  expect(begun.map(({ items }) => items)).toEqual([[60, 40], [30]]);
  for (const { end } of begun) end();
  await turn();
  await turn();
  expect(begun.slice(2).map(({ items }) => items)).toEqual([[250], [1]]);
  for (const { end } of begun.slice(2)) end();
  expect(await Promise.all(asked)).toHaveLength(5);
});

test('an item that cannot be done fails alone; while the database is unavailable all do', async () => {
  const tried: (readonly string[])[] = [];
  const joined = new JoinedWork<string, string>({
    ...{ atOnce: 1, weightOf: () => 0.1 },
    async work(items) {
      tried.push(items);
      if (items.includes('gone')) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
      if (items.includes('bad')) throw new Error('bad');
      return items;
    },
  });
  const settled = (...items: string[]) => Promise.allSettled(items.map((item) => joined.ask('a', item)));
  const outcomes = async (...items: string[]) => (await settled(...items)).map(({ status }) => status);
  expect(await outcomes('good', 'bad', 'fine')).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(tried).toEqual([['good', 'bad', 'fine'], ['good'], ['bad'], ['fine']]);
  expect(await outcomes('good', 'gone')).toEqual(['rejected', 'rejected']);
  expect(tried).toHaveLength(5);
});
