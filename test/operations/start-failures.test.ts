import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { openProduct, type Product } from '../product.ts';
import type { LogLine } from '../product-process.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

/** What a process that did not get ready wrote to standard error, and its log. */
async function lastWords(env: Record<string, string>, roles: RoleName[] = ['api'], entryPoint?: string) {
  const failure = await product.start(roles, env, entryPoint).then(
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
  const entryPoint = fileURLToPath(new URL('./fails-after-polling.ts', import.meta.url));
  const { errors, log } = await lastWords({ LOG_LEVEL: 'debug' }, ['webhooks'], entryPoint);
  expect(errors).toMatch(/^The roles webhooks cannot start: there is no workflow worker$/);
  const states = log.map(({ temporal }) => (temporal as { state?: string } | undefined)?.state);
  expect(states).toContain('STOPPED');
});

test('a process whose worker fails before it is ready drains its other roles, and ends with 1', async () => {
  const entryPoint = fileURLToPath(new URL('./fails-while-starting.ts', import.meta.url));
  const failing = await product.start(['api', 'webhooks'], {}, entryPoint);
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
