import { expect, test } from '@jest/globals';
import { openLog } from '../platform/observability/log.ts';
import type { Sweep } from '../platform/parts/part.ts';
import type { SweepResult } from '../temporal/contracts/housekeeping.ts';
import { SweepRunner } from './sweep-runner.ts';

const minute = 60_000;
const log = openLog('silent', 'test');
const tick = { all: false, tickMs: minute };
const everything = { all: true, tickMs: minute };

/** A sweep that counts how often it ran. */
function counted(name: string, everyMs: number, work: () => Promise<number> = async () => 0): Sweep & { runs: number } {
  const sweep = {
    name,
    everyMs,
    runs: 0,
    run() {
      sweep.runs++;
      return work();
    },
  };
  return sweep;
}

const statuses = (results: SweepResult[]) => results.map(({ status }) => status);

test('each sweep runs at its own pace', async () => {
  const [often, seldom] = [counted('often', minute), counted('seldom', 60 * minute)];
  let now = Date.now();
  const runner = new SweepRunner([often, seldom], log, () => now);
  const runs = async (afterMs: number, what = tick) => {
    now += afterMs;
    await runner.tick(what);
    return [often.runs, seldom.runs];
  };
  expect(await runs(0)).toEqual([1, 1]);
  // A tick that is a little early, one that is a little late, and one too many.
  expect(await runs(minute - 2_000)).toEqual([2, 1]);
  expect(await runs(minute + 2_000)).toEqual([3, 1]);
  expect(await runs(20_000)).toEqual([3, 1]);
  expect(await runs(58 * minute)).toEqual([4, 2]);
  expect(await runs(1, everything)).toEqual([5, 3]);
});

test('one that fails keeps no other from running, says why and is due again at the next tick', async () => {
  const failing = counted('failing', 60 * minute, () => Promise.reject(new Error('The mail server is away.')));
  const fine = counted('fine', 60 * minute, async () => 7);
  const lines: string[] = [];
  const kept = openLog('error', 'test', { destination: { write: (line) => void lines.push(line) } });
  const runner = new SweepRunner([failing, fine], kept);
  expect(await runner.tick(tick)).toMatchObject([
    { name: 'failing', status: 'failed', failure: 'The mail server is away.' },
    { name: 'fine', status: 'done', changed: 7 },
  ]);
  await runner.tick(tick);
  expect([failing.runs, fine.runs]).toEqual([2, 1]);
  expect(lines).toHaveLength(1);
});

test('one that hangs keeps no other waiting, is not started twice, and is reported when it ends', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const hanging = counted('hanging', 60 * minute, () => promise);
  const fine = counted('fine', minute);
  const runner = new SweepRunner([hanging, fine], log);
  expect(statuses(await runner.tick(everything, 20))).toEqual(['running', 'done']);
  expect(statuses(await runner.tick(everything, 20))).toEqual(['running', 'done']);
  expect([hanging.runs, fine.runs]).toEqual([1, 2]);
  resolve(3);
  await runner.settled();
  expect((await runner.tick(tick, 20))[0]).toMatchObject({ name: 'hanging', status: 'done', changed: 3 });
  expect([hanging.runs, fine.runs]).toEqual([1, 2]);
});
