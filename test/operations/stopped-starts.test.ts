import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { openProduct, type Product } from '../product.ts';
import type { LogLine } from '../product-process.ts';
import { until } from '../until.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

const entryPoint = (name: string) => fileURLToPath(new URL(`./${name}.ts`, import.meta.url));

/** How a process ended that was stopped before it was ready. */
async function endOf(starting: Promise<unknown>): Promise<{ first: string; errors: string[]; log: LogLine[] }> {
  const failure = await starting.then(
    () => 'It was ready.\n[]',
    (error: Error) => error.message,
  );
  const [first, ...rest] = failure.split('\n');
  return { first: first!, errors: rest.slice(0, -1).filter(Boolean), log: JSON.parse(rest.at(-1)!) };
}

const endedInOrder = 'The process ended before it was ready (0):';

test('a process that is stopped while it is loaded starts nothing', async () => {
  const { first, errors, log } = await endOf(product.start(['api'], {}, entryPoint('stopped-while-loading')));
  expect({ first, errors }).toEqual({ first: endedInOrder, errors: [] });
  // The signal may come when the last module is loaded.
  expect(['draining', 'stopped']).toEqual(expect.arrayContaining(log.map(({ msg }) => msg)));
});

test('a process that is stopped when the first of its workers polls drains this worker and starts no further one', async () => {
  const roles: RoleName[] = ['webhooks', 'calendars', 'api'];
  const { first, errors, log } = await endOf(
    product.start(roles, { LOG_LEVEL: 'debug' }, entryPoint('stopped-after-polling')),
  );
  expect({ first, errors }).toEqual({ first: endedInOrder, errors: [] });
  expect(log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['draining', 'stopped']));
  const states = log.flatMap(({ temporal }) => (temporal as { state?: string } | undefined)?.state ?? []);
  expect(states.filter((state) => state === 'RUNNING' || state === 'STOPPED')).toEqual(['RUNNING', 'STOPPED']);
});

test('a process that is stopped while it builds the workflow code ends the build and removes what was built', async () => {
  const bundles = await mkdtemp(join(tmpdir(), 'atelier-bundles-'));
  const ended = endOf(product.start(['calendars'], { WORKFLOW_BUNDLE_DIR: bundles }));
  const builder = await until('the workflow code is built', () => findBuilder(bundles));
  process.kill(builder.parent, 'SIGTERM');
  expect(await ended).toMatchObject({ first: endedInOrder, errors: [] });
  expect(await findBuilder(bundles)).toBeUndefined();
  expect(await readdir(bundles)).toEqual([]);
});

/** The process that builds into a folder, and the process that started it. */
async function findBuilder(folder: string): Promise<{ parent: number } | undefined> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!command.includes(folder)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return { parent: Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]) };
  }
  return undefined;
}
