import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Services } from '../src/services.ts';
import { queues } from '../src/temporal/contracts/queues.ts';
import { openProduct, type Product } from '../test/product.ts';
import { registerActivities } from './register-activities.ts';
import { type RoleName, roles } from './roles.ts';

const root = new URL('../', import.meta.url);
let product: Product;
let folder: string;
beforeAll(async () => {
  product = await openProduct();
  folder = mkdtempSync(join(tmpdir(), 'atelier-modules-'));
});
afterAll(async () => {
  await product.close();
  rmSync(folder, { recursive: true });
});

/** The modules that a process with these roles loads until it is ready: paths below the sources, and packages. */
async function modulesOf(names: RoleName[]): Promise<string[]> {
  const file = join(folder, names.join('+'));
  const hooks = new URL(`test/platform/loaded-modules.mjs?file=${file}`, root);
  const process = await product.start(names, { NODE_OPTIONS: `--import ${hooks.href}` });
  await process.stop();
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((url) => url.replace(root.href, ''));
}

test('a worker loads no code of the API, and none of the roles that it does not have', async () => {
  const modules = await modulesOf(['webhooks']);
  expect(modules).toContain('workers/webhooks.ts');
  expect(modules).toContain('activities/webhooks.ts');
  const foreign =
    /^api\/|^node_modules\/(@hono|hono|@scalar)\/|^workers\/(api|runs|housekeeping)\.ts$|^activities\/runs\.ts$/;
  expect(modules.filter((name) => foreign.test(name))).toEqual([]);

  const ofRuns = await modulesOf(['runs']);
  expect(ofRuns).toContain('workers/runs.ts');
  expect(ofRuns.filter((name) => /^api\/|^node_modules\/(@hono|hono|@scalar)\//.test(name))).toEqual([]);

  const ofApi = await modulesOf(['api']);
  expect(ofApi).toContain('api/server.ts');
  expect(ofApi.filter((name) => /^activities\/|^workers\/(runs|webhooks|housekeeping)\.ts$/.test(name))).toEqual([]);
});

test('each queue has one role, and each role a queue or the API', () => {
  const served = Object.values(roles).flatMap((role) => ('queue' in role ? [role.queue.name] : []));
  expect(new Set(served).size).toBe(served.length);
  expect(served).toHaveLength(Object.keys(roles).length - 1);
  const names = Object.values(queues).map(({ name }): string => name);
  expect(served.filter((name) => !names.includes(name))).toEqual([]);
});

test('two activities of one name on a queue are refused', () => {
  const factory = (name: string) => () => ({ [name]: async () => {} });
  const services = {} as Services;
  expect(Object.keys(registerActivities('runs', [factory('one'), factory('two')], services))).toEqual(['one', 'two']);
  expect(() => registerActivities('runs', [factory('one'), factory('one')], services)).toThrow(
    'Two activities of the queue runs have the name one.',
  );
});
