import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Cleanup } from './cleanup.ts';
import type { Finding, Item } from './item.ts';
import { appendResult, describeOutcome } from './report.ts';
import { type RunOptions, runItems } from './run-items.ts';

const folder = mkdtempSync(join(tmpdir(), 'atelier-bench-results-'));
const file = join(folder, 'results.jsonl');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const findings: Finding[] = [{ rows: [{ name: 'alone', unit: 'ms', values: [1, 2, 3] }], verdicts: [] }];

test('an item that fails is reported and what follows still runs, each after the clean-up of the one before', async () => {
  const said: string[] = [];
  const item = (name: string, run: (cleanup: Cleanup) => Promise<Finding[]>): Item => ({
    name,
    title: `title of ${name}`,
    needs: 'nothing',
    async run(cleanup) {
      said.push(`${name} begins`);
      cleanup.add(() => said.push(`${name} is cleaned up`));
      return run(cleanup);
    },
  });
  const onStand: Item = { name: 'P0', title: 'needs servers', needs: 'stand', run: async () => findings };
  const chosen = [
    onStand,
    item('P1', async () => findings),
    item('P2', async () => {
      throw new Error('no letter was parked');
    }),
    item('P3', async (cleanup) => {
      cleanup.add(() => {
        throw new Error('a folder is busy');
      });
      return findings;
    }),
    item('P4', async () => findings),
    item('P5', async () => findings),
  ];
  let left = 5;
  const options: RunOptions = {
    chosen,
    choice: {},
    cleanup: new Cleanup(),
    openStand: async () => {
      throw new Error('no PostgreSQL here');
    },
    settle: async () => {},
    report(outcome) {
      said.push(...describeOutcome(outcome).filter((line) => line.includes('FAILED')));
      appendResult(file, outcome);
    },
    leaveOut: ({ name }) => said.push(`${name} is left out`),
    hasTime: () => left-- > 0,
  };

  expect(await runItems(options)).toBe(false);
  expect(said.map((line) => line.split('\n')[0])).toEqual([
    expect.stringContaining('FAILED: Error: no PostgreSQL here'),
    'P1 begins',
    'P1 is cleaned up',
    'P2 begins',
    expect.stringContaining('FAILED: Error: no letter was parked'),
    'P2 is cleaned up',
    'P3 begins',
    'P3 is cleaned up',
    expect.stringContaining('FAILED: Error: The clean-up after P3 failed.'),
    'P4 begins',
    'P4 is cleaned up',
    'P5 is left out',
  ]);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { item: 'P0', error: 'Error: no PostgreSQL here' },
    { item: 'P1', rows: [{ name: 'alone', median: 2, min: 1, max: 3, rounds: 3 }] },
    { item: 'P2', error: 'Error: no letter was parked' },
    { item: 'P3', rows: [{ name: 'alone' }] },
    { item: 'P3', error: expect.stringContaining('clean-up') },
    { item: 'P4', rows: [{ name: 'alone' }] },
  ]);
});

test('all succeed', async () => {
  const chosen: Item[] = [{ name: 'P1', title: '', needs: 'nothing', run: async () => findings }];
  const nothing = async () => {};
  const options = { choice: {}, settle: nothing, report: () => {}, leaveOut: () => {}, hasTime: () => true };
  const openStand = () => Promise.reject(new Error('not needed'));
  expect(await runItems({ ...options, chosen, cleanup: new Cleanup(), openStand })).toBe(true);
});
