import { expect, test } from '@jest/globals';
import type { Caller } from './caller.ts';
import { CallerCache } from './caller-cache.ts';
import { KeyChanges } from './key-changes.ts';

/** The notifications of a process whose connection is up. */
function opened() {
  const confirmed: string[] = [];
  let receive = (_payload: string) => {};
  let lose = () => {};
  const notifications = {
    silenceMs: 0,
    async on(_channel: string, handler: (payload: string) => void) {
      receive = handler;
    },
    onConnection(connected: (client: never) => Promise<void>, lost: () => void) {
      lose = lost;
      void connected({ query: async () => {} } as never);
    },
    async send(_channel: string, payload: string) {
      confirmed.push(payload);
    },
  };
  const changes = new KeyChanges(notifications);
  return {
    changes,
    confirmed,
    notifications,
    cache: new CallerCache(changes),
    receive: (payload: string) => receive(payload),
    lose: () => lose(),
  };
}

const callerOf = (organizationId: string, generation: number) => ({ organizationId, generation }) as Caller;

async function filled() {
  const process = opened();
  await Promise.resolve();
  const { cache } = process;
  const { generation } = cache;
  for (const organizationId of ['one', 'two']) cache.put(organizationId, callerOf(organizationId, generation));
  cache.refuse('none', generation);
  const known = () => ['one', 'two'].filter((hash) => cache.get(hash));
  expect([known(), cache.isRefused('none')]).toEqual([['one', 'two'], true]);
  return { ...process, known };
}

test('a change removes what was read of its organizations, and is confirmed as it was sent', async () => {
  const { cache, known, receive, confirmed } = await filled();
  receive('n1 three two four');
  expect([known(), cache.isRefused('none')]).toEqual([['one'], true]);
  receive('n2');
  expect([known(), cache.isRefused('none')]).toEqual([[], false]);
  expect(confirmed).toEqual(['n1 three two four', 'n2']);
});

test('what was read before a change of its organization is not kept after it', async () => {
  const { cache, known, receive } = await filled();
  const { generation } = cache;
  receive('n1 two');
  cache.put('two', callerOf('two', generation));
  cache.put('one', callerOf('one', generation));
  expect(known()).toEqual(['one']);
  cache.put('two', callerOf('two', cache.generation));
  expect(known()).toEqual(['one', 'two']);
  receive('n2');
  cache.put('one', callerOf('one', generation));
  cache.refuse('none', generation);
  expect([known(), cache.isRefused('none')]).toEqual([[], false]);
});

test('nothing is used when announcements may be missed, or were', async () => {
  const silent = await filled();
  silent.notifications.silenceMs = 3_000;
  expect([silent.known(), silent.cache.isRefused('none')]).toEqual([[], false]);
  const cut = await filled();
  cut.lose();
  expect([cut.known(), cut.cache.isRefused('none')]).toEqual([[], false]);
});

test('of very many changed organizations the oldest are forgotten, with all that was read before them', async () => {
  const { cache, known, receive } = await filled();
  receive('n two');
  cache.put('two', callerOf('two', cache.generation));
  const before = cache.generation;
  cache.put('one', callerOf('one', before));
  for (let at = 0; at < 10_000; at++) receive(`n organization${at}`);
  expect(known()).toEqual(['one', 'two']);
  receive('n another');
  expect(known()).toEqual([]);
  cache.put('two', callerOf('two', before));
  expect(known()).toEqual([]);
});

test('the oldest entries make way, one for each new one', async () => {
  const { cache, known } = await filled();
  const { generation } = cache;
  const add = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      cache.put(`h${at}`, callerOf('three', generation));
      cache.refuse(`h${at}`, generation);
    }
  };
  add(0, 9_998);
  expect([known(), cache.isRefused('none')]).toEqual([['one', 'two'], true]);
  // An entry that is read again is as new as the latest.
  cache.put('one', callerOf('one', generation));
  add(9_998, 10_000);
  expect([known(), cache.isRefused('none')]).toEqual([['one'], false]);
  expect([cache.get('h0'), cache.get('h1'), cache.isRefused('h0')]).toEqual([undefined, expect.anything(), true]);
});
