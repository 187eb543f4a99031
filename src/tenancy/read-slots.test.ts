import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { TenantKey } from '../platform/security/tenant-key.ts';
import { ReadSlots } from './read-slots.ts';

const policy = { alone: 3, together: 2, maxWaiting: 2, maxWaitMs: 60_000, rememberMs: 60_000 };
const [acme, globex] = ['acme', 'globex'] as TenantKey[] as [TenantKey, TenantKey];

/** Waits for a slot, and says whether it has one. */
function begin(slots: ReadSlots, key: TenantKey) {
  const read = { hasSlot: false, slot: slots.acquire(key) };
  read.slot.then(
    () => {
      read.hasSlot = true;
    },
    () => {},
  );
  return read;
}

test('an organization that is alone has many slots, and one beside another its share', async () => {
  const slots = new ReadSlots(policy);
  const reads = [1, 2, 3, 4, 5].map(() => begin(slots, acme));
  await yieldToEventLoop();
  expect(reads.map(({ hasSlot }) => hasSlot)).toEqual([true, true, true, false, false]);
  const other = begin(slots, globex);
  await yieldToEventLoop();
  expect(other.hasSlot).toBe(true);
  const [first, second, third] = await Promise.all(reads.slice(0, 3).map(({ slot }) => slot));
  first!();
  first!();
  second!();
  await yieldToEventLoop();
  expect(reads.map(({ hasSlot }) => hasSlot)).toEqual([true, true, true, false, false]);
  third!();
  await yieldToEventLoop();
  expect(reads.map(({ hasSlot }) => hasSlot)).toEqual([true, true, true, true, false]);
});

test('what would wait too long is refused, and takes no slot later', async () => {
  const slots = new ReadSlots({ ...policy, alone: 1, maxWaitMs: 20 });
  const release = await slots.acquire(acme);
  const late = slots.acquire(acme);
  await expect(late).rejects.toMatchObject({ code: 'service_unavailable' });
  const last = begin(slots, acme);
  release();
  await last.slot;
});

test('more than may wait are refused at once', async () => {
  const slots = new ReadSlots({ ...policy, alone: 1 });
  const reads = [1, 2, 3].map(() => begin(slots, acme));
  await expect(slots.acquire(acme)).rejects.toMatchObject({ code: 'service_unavailable' });
  (await reads[0]!.slot)();
  (await reads[1]!.slot)();
  (await reads[2]!.slot)();
});
