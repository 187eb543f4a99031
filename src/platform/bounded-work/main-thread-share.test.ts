import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { MainThreadShare, maxPauseMs } from './main-thread-share.ts';

const busyFor = (ms: number) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test('pieces run one at a time, and the organization that used least is next', async () => {
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

test('work that yields is done some parts at a time, and others have their pieces between', async () => {
  const share = new MainThreadShare();
  const done: string[] = [];
  function* parts() {
    for (let part = 1; part <= 10; part++) {
      busyFor(1);
      done.push('part');
      yield;
    }
    return 'the whole';
  }
  const whole = share.runInParts(tenantKeyOf('large'), parts());
  await Promise.all([whole, share.run(tenantKeyOf('small'), () => done.push('other'))]);
  expect(await whole).toBe('the whole');
  expect(done.filter((one) => one === 'part')).toHaveLength(10);
  expect(done.indexOf('other')).toBeLessThan(5);
});
