import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { MainThreadShare, maxPauseMs } from './main-thread-share.ts';

const busyFor = (ms: number) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test('pieces are done one at a time, and whoever used least is next', async () => {
  const share = new MainThreadShare();
  const [greedy, modest] = [tenantKeyOf('greedy'), tenantKeyOf('modest')];
  const done: string[] = [];
  const piece = (name: string) => () => {
    busyFor(5);
    done.push(name);
  };
  const all = [1, 2, 3, 4].map((number) => share.run(greedy, piece(`greedy ${number}`)));
  all.push(share.run(modest, piece('modest')));
  await Promise.all(all);
  expect(done).toEqual(['greedy 1', 'modest', 'greedy 2', 'greedy 3', 'greedy 4']);
});

test('after a piece the thread is left to others for as long as it took', async () => {
  const share = new MainThreadShare();
  const key = tenantKeyOf('one');
  const times: { from: number; to: number }[] = [];
  const piece = () => {
    const from = performance.now();
    busyFor(20);
    times.push({ from, to: performance.now() });
  };
  await Promise.all([share.run(key, piece), share.run(key, piece), share.run(key, piece)]);
  for (const [index, { from, to }] of times.slice(0, -1).entries()) {
    // A timer may be early by less than a millisecond.
    expect(times[index + 1]!.from - to).toBeGreaterThan(Math.min(to - from, maxPauseMs) - 1);
  }
});

test('a piece that throws fails its caller alone', async () => {
  const share = new MainThreadShare();
  const key = tenantKeyOf('one');
  const failing = share.run(key, () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  await sleep(1);
  expect(await share.run(key, () => 'done')).toBe('done');
});
