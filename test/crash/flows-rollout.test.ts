import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import type { Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { copyOfEarlierSources, openVersionScene, type VersionScene, versionsOf } from './earlier-sources.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(400_000);

let versions: VersionScene;
let tenant: Tenant;
let oldEntry: string;
beforeAll(async () => {
  versions = await openVersionScene();
  tenant = await versions.scene.product.createTenant({ plan: 'enterprise' });
  oldEntry = copyOfEarlierSources(versions.folder);
});
afterAll(() => versions.close());

const rowsOf = async (sql: string, ...values: unknown[]) =>
  (await versions.scene.product.database.pool.query(sql, values)).rows;
const clientOf = ({ api }: ProductProcess) => apiClient(api, tenant.testKey);

/** A run waits in a map for an event and a time, asks a person, and waits for a run that waits too. */
interface Waiting {
  key: string;
  runId: string;
}

async function makeFlows(client: ApiClient): Promise<string> {
  const { product } = versions.scene;
  const goOn = { id: 'event', type: 'event', event: 'go_on', match: 'event.data.key == input' };
  const child = await makeFlow(product, client, [goOn, { id: 'done', type: 'transform', expression: 'input' }]);
  const branch = (id: string, ...steps: object[]) => ({ id, steps });
  return makeFlow(product, client, [
    { id: 'before', type: 'transform', expression: '1' },
    {
      id: 'all',
      type: 'parallel',
      branches: [
        branch('one', { ...goOn, id: 'own' }, { id: 'nap', type: 'wait', for: 1 }),
        branch('two', { id: 'ask', type: 'approval', message: '{{input}}' }),
        branch('three', { id: 'child', type: 'workflow', workflowId: child, input: '{{input}}' }),
      ],
    },
    { id: 'after', type: 'prompt', prompt: 'Say {{input}}' },
  ]);
}

/** Starts runs that wait. @param name of what starts them */
async function startWaiting(client: ApiClient, workflowId: string, name: string, count: number): Promise<Waiting[]> {
  const started = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const key = `${name} ${index}`;
      const { body } = await client.post(`/api/v1/workflows/${workflowId}/execute`, { input: key, async: true });
      return { key, runId: runIds.parse(body.data.runId)! };
    }),
  );
  const keys = started.map(({ key }) => key);
  const waits = `
    select r.id from run r where r.input #>> '{}' = any($1) and r.waiting_since is not null`;
  // Each with the one that it started.
  await until('all of them wait', async () => (await rowsOf(waits, keys)).length === 2 * count, 120_000);
  return started;
}

/** What the runs wait for comes, to one process of the API after the other. */
async function resume(waiting: readonly Waiting[], clients: readonly ApiClient[]): Promise<void> {
  const of = (index: number) => clients[index % clients.length]!;
  const { approvals } = (await of(0).get('/api/v1/approvals?status=pending&limit=100')).body.data;
  await Promise.all(
    waiting.map(async ({ key }, index) => {
      const event = await of(index).post('/api/v1/events', { name: 'go_on', data: { key } });
      expect(event.body.data).toMatchObject({ resumed: 2, started: 0 });
      const { id } = approvals.find(({ message }: { message: string }) => message === key);
      expect((await of(index + 1).post(`/api/v1/approvals/${id}/respond`, { action: 'approve' })).status).toBe(200);
    }),
  );
}

async function expectEnds(waiting: readonly Waiting[]): Promise<void> {
  const keys = waiting.map(({ key }) => key);
  const byStatus = `select status, count(*)::int from run where input #>> '{}' = any($1) group by status`;
  await until(
    'all of them have ended',
    async () => (await rowsOf(byStatus, keys)).every(({ status }) => status !== 'running' && status !== 'queued'),
    120_000,
  );
  expect(await rowsOf(byStatus, keys)).toEqual([{ status: 'completed', count: 2 * keys.length }]);
  const again = `
    select s.path, s.attempts from run_step s join run r on r.id = s.run_id
     where r.input #>> '{}' = any($1) and (s.attempts <> 1 or s.status <> 'completed')`;
  expect(await rowsOf(again, keys)).toEqual([]);
}

test('runs that wait go on in workers of the version before and of this one, side by side and after each other', async () => {
  const { scene, temporal, bundles } = versions;
  const { product } = scene;
  const old = await product.start(['api', 'runs'], {}, oldEntry);
  const [oldVersion] = bundles();
  const flow = await makeFlows(clientOf(old));
  const [first, later] = [
    await startWaiting(clientOf(old), flow, 'old', 6),
    await startWaiting(clientOf(old), flow, 'old for long', 3),
  ];
  versions.takeBuiltBundle();
  const present = await product.start(['api', 'runs']);
  const newVersion = bundles().find((version) => version !== oldVersion);
  const both = [clientOf(old), clientOf(present)];
  const next = await startWaiting(clientOf(present), flow, 'new', 6);
  await resume([...first, ...next], both);
  await expectEnds([...first, ...next]);
  const begunOn = await versionsOf(
    temporal.address,
    next.map(({ runId }) => runId),
  );
  expect(Object.values(begunOn)).toContain(newVersion);

  const left = await startWaiting(clientOf(present), flow, 'new for long', 3);
  expect(await old.stop()).toBe(0);
  await resume(later, [clientOf(present)]);
  await expectEnds(later);
  expect(await present.stop()).toBe(0);

  const rolledBack = await product.start(['api', 'runs'], {}, oldEntry);
  await resume(left, [clientOf(rolledBack)]);
  await expectEnds(left);
});
