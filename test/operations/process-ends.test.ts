import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { openProduct, type Product } from '../product.ts';
import type { LogLine, ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

// How processes end that cannot start, that are stopped before they are ready, or that fail.
let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

const entryPoint = (name: string) => fileURLToPath(new URL(`./${name}.ts`, import.meta.url));

/** What a process that did not get ready wrote to standard error, and its log. */
async function lastWords(env: Record<string, string>, roles: RoleName[] = ['api'], program?: string) {
  const failure = await product.start(roles, env, program).then(
    () => undefined,
    (error: Error) => error.message,
  );
  const lines = failure?.split('\n') ?? ['', 'It started.', '[]'];
  return { errors: lines.slice(1, -1).join('\n'), log: JSON.parse(lines.at(-1)!) as LogLine[] };
}

/** Calls `use` with a port on which another server listens. */
async function withTakenPort(use: (port: number) => Promise<void>): Promise<void> {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  await use((other.address() as { port: number }).port);
  other.close();
}

test('a port that is taken is named in one line', () =>
  withTakenPort(async (port) => {
    const { errors } = await lastWords({ PORT: String(port) });
    expect(errors).toMatch(new RegExp(`^The roles api cannot start: .*${port}$`));
  }));

test('a process whose API cannot start drains the workers that have started', () =>
  withTakenPort(async (port) => {
    const { errors, log } = await lastWords({ PORT: String(port), LOG_LEVEL: 'debug' }, ['api', 'calendars']);
    expect(errors).toMatch(/^The roles api and calendars cannot start: [^\n]+$/);
    const states = log.map(({ temporal }) => (temporal as { state?: string } | undefined)?.state);
    expect(states).toContain('STOPPED');
  }));

test('a process whose role cannot start drains the worker of this role that polls already', async () => {
  const { errors, log } = await lastWords({ LOG_LEVEL: 'debug' }, ['webhooks'], entryPoint('fails-after-polling'));
  expect(errors).toMatch(/^The roles webhooks cannot start: there is no workflow worker$/);
  const states = log.map(({ temporal }) => (temporal as { state?: string } | undefined)?.state);
  expect(states).toContain('STOPPED');
});

test('a process whose worker fails before it is ready drains its other roles, and ends with 1', async () => {
  const failing = await product.start(['api', 'webhooks'], {}, entryPoint('fails-while-starting'));
  await failing.ended;
  expect(failing.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['a worker failed', 'draining', 'stopped']));
  expect(failing.errors).toEqual([]);
  expect(await failing.stop()).toBe(1);
});

test('a process whose parent ends before it is ready drains', async () => {
  const { errors, log } = await lastWords({ NODE_OPTIONS: '--import=data:text/javascript,process.disconnect()' });
  expect(errors).toBe('');
  expect(log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['draining', 'stopped']));
});

test('a Temporal that is not there is named in one line', async () => {
  expect((await lastWords({ TEMPORAL_ADDRESS: '127.0.0.1:9' })).errors).toMatch(
    /^Temporal does not answer at 127\.0\.0\.1:9: [^\n]+$/,
  );
});

test('aliases of models that cannot be read are named, and not where they were read', async () => {
  expect((await lastWords({ MODEL_ALIASES: '{"a"' })).errors).toMatch(
    /^The environment is invalid:\n {2}MODEL_ALIASES: [^\n]+$/,
  );
});

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

describe('in a process that serves', () => {
  let running: ProductProcess;
  beforeAll(async () => {
    running = await product.start(['api', 'webhooks', 'housekeeping'], {}, entryPoint('fails-on-signal'));
  });

  test('a failure that nobody handles is logged, and everybody is still served', async () => {
    process.kill(running.pid, 'SIGHUP');
    const line = await until('it is logged', async () =>
      running.log.find(({ msg }) => msg === 'a failure was not handled'),
    );
    expect(line).toMatchObject({ level: 50, err: { message: 'nobody awaits this', stack: expect.any(String) } });
    expect(await apiClient(running.api, '').get('/api/health')).toMatchObject({ status: 200 });
  });

  test('a worker that fails has its process drain the other roles, and end with 1', async () => {
    process.kill(running.pid, 'SIGUSR2');
    await running.ended;
    const messages = running.log.map(({ msg }) => msg);
    expect(messages).toEqual(expect.arrayContaining(['a worker failed', 'draining', 'stopped']));
    expect(running.errors).toEqual([]);
    expect(await running.stop()).toBe(1);
  });
});
