import { afterEach, expect, test } from '@jest/globals';
import { WaitingBytes } from './waiting-bytes.ts';

let now = 0;
const closed: string[] = [];
const connection = (name: string) => ({ close: () => void closed.push(name) });
const open = () =>
  new WaitingBytes(
    { maxBytesPerOwner: 100, maxStallMs: 30_000 },
    () => {},
    () => now,
  );

afterEach(() => {
  now = 0;
  closed.length = 0;
});

test('above the limit of an organization its slowest connection is closed, and no connection of another', () => {
  const bytes = open();
  const [one, two, other] = [connection('one'), connection('two'), connection('other')];
  bytes.set(one, 'a', 40, false);
  bytes.set(other, 'b', 90, false);
  bytes.set(two, 'a', 50, false);
  // Its client reads, the one of the second does not.
  bytes.set(one, 'a', 45, true);
  bytes.set(connection('three'), 'a', 10, false);
  expect(closed).toEqual(['two']);
  expect(bytes.bytes).toBe(145);
  bytes.stop();
});

test('a connection whose client takes nothing is closed; one that takes something is not', () => {
  const bytes = open();
  const [still, slow, done] = [connection('still'), connection('slow'), connection('done')];
  for (const one of [still, slow, done]) bytes.set(one, 'a', 10, false);
  now = 20_000;
  bytes.set(slow, 'a', 9, true);
  bytes.set(still, 'a', 12, false);
  bytes.set(done, 'a', 0, true);
  now = 31_000;
  bytes.closeStalled();
  expect(closed).toEqual(['still']);
  now = 51_000;
  bytes.closeStalled();
  expect(closed).toEqual(['still', 'slow']);
  expect(bytes.bytes).toBe(0);
  bytes.stop();
});
