import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { isTooSlow } from './core/pace.ts';
import { Downloads, places } from './downloads.ts';
import type { StorageFailure } from './failure.ts';

const organizationId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const file = { name: 'x.png', organizationId };
const stranger = { address: 'a', abort() {} };

/** A file without an end, which counts the pieces that were taken from it. */
function endless() {
  const taken = { pieces: 0 };
  const stream = new Readable({
    highWaterMark: 64 * 1024,
    read() {
      taken.pieces++;
      this.push(Buffer.alloc(64 * 1024));
    },
  });
  return { stream, taken };
}

const opening = (open: () => Readable | undefined, draining = new AbortController()) =>
  new Downloads({ open: async () => open() }, draining.signal);

describe('a download', () => {
  test('is read no faster than its reader takes it', async () => {
    const { stream, taken } = endless();
    const download = (await opening(() => stream).open(file, undefined, stranger))!;
    const reader = download.body.getReader();
    for (let read = 0; read < 10; read++) await reader.read();
    for (let waited = 0; waited < 20; waited++) await yieldToEventLoop();
    expect(taken.pieces).toBeLessThanOrEqual(13);
    download.close();
    expect(stream.destroyed).toBe(true);
  });

  test('gives its place free however it ends, once', async () => {
    const downloads = opening(() => Readable.from([Buffer.from('all')]));
    const begin = async () => (await downloads.open(file, undefined, stranger))!;
    const [read, cancelled, closed] = [await begin(), await begin(), await begin()];
    expect(downloads.count).toBe(3);
    expect(String(await buffer(read.body))).toBe('all');
    await cancelled.body.cancel();
    for (const one of [read, cancelled, closed, closed]) one.close();
    expect(downloads.count).toBe(0);
    for (let again = 0; again < places.address; again++) await begin();
    await expect(begin()).rejects.toMatchObject({ kind: 'rate_limit_exceeded' });
  });

  test('is aborted, and nothing is written after it, when the file cannot be read to its end', async () => {
    const abort = jest.fn();
    const broken = new Readable({ read() {} });
    const { body } = (await opening(() => broken).open(file, undefined, { address: 'a', abort }))!;
    broken.push('half');
    const text = buffer(body);
    await yieldToEventLoop();
    expect(abort).not.toHaveBeenCalled();
    broken.destroy(new Error('the bucket went away'));
    expect(String(await text)).toBe('half');
    expect(abort).toHaveBeenCalledTimes(1);
  });

  test('has a place while there are some: for each address, each organization and all together', async () => {
    const downloads = opening(() => endless().stream);
    const open = (address: string, of = organizationId) =>
      downloads.open({ name: 'x.png', organizationId: of }, undefined, { address, abort() {} });
    for (let place = 0; place < places.address; place++) await open('one');
    const refused = { kind: 'rate_limit_exceeded', retryAfter: 5 };
    await expect(open('one', 'another')).rejects.toMatchObject({ ...refused, facts: { limit: places.address } });
    for (let place = places.address; place < places.organization; place++) await open(`address ${place}`);
    await expect(open('late')).rejects.toMatchObject({ ...refused, facts: { limit: places.organization } });
    const others = Array.from({ length: places.process - places.organization }, (_, index) => index);
    for (const index of others) await open(`other ${index}`, `organization ${index % 5}`);
    await expect(open('last', 'another')).rejects.toMatchObject({ ...refused, facts: { limit: places.process } });
  });

  test('takes no place when the file is gone or cannot be opened', async () => {
    const failure = { reason: 'unavailable' } as StorageFailure;
    let isThere = false;
    const downloads = opening(() => {
      if (isThere) throw failure;
      return undefined;
    });
    for (let tried = 0; tried <= places.address; tried++) {
      expect(await downloads.open(file, undefined, stranger)).toBeUndefined();
    }
    isThere = true;
    for (let tried = 0; tried <= places.address; tried++) {
      await expect(downloads.open(file, undefined, stranger)).rejects.toBe(failure);
    }
  });

  test('ends soon after the process began to drain, and when its reader stands still', async () => {
    jest.useFakeTimers();
    try {
      const draining = new AbortController();
      const downloads = opening(() => endless().stream, draining);
      const abort = jest.fn();
      await downloads.open(file, undefined, { address: 'a', abort });
      await jest.advanceTimersByTimeAsync(60_000);
      expect(downloads.count).toBe(1);
      await jest.advanceTimersByTimeAsync(20_000);
      expect([downloads.count, abort.mock.calls.length]).toEqual([0, 1]);
      await downloads.open(file, undefined, { address: 'a', abort });
      draining.abort();
      await jest.advanceTimersByTimeAsync(9_000);
      expect(downloads.count).toBe(1);
      await jest.advanceTimersByTimeAsync(2_000);
      expect([downloads.count, abort.mock.calls.length]).toEqual([0, 2]);
    } finally {
      jest.useRealTimers();
    }
  });
});

test.each([
  [0, 60_000, false],
  [0, 60_100, true],
  [16 * 1024 * 1024, 60_000 + 1_023_000, false],
  [16 * 1024 * 1024, 60_000 + 1_025_000, true],
])('%i bytes in %i ms: too slow is %s', (bytes, elapsedMs, expected) => {
  expect(isTooSlow({ bytes, elapsedMs })).toBe(expected);
});
