import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type pg from 'pg';
import { bulkActionIds, runIds } from '../../src/automation/core/ids.ts';
import { bulkActionMessages, bulkActionWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { whileHeld } from '../hold-lock.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { untilDayHasRoom } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';
import { makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let connection: Connection;
beforeAll(async () => {
  product = await sharedProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const inA = { 'x-api-variant': 'A' };
const unknownId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const slow = [{ id: 'say', type: 'prompt', prompt: 'sandbox:slow=600' }];
const failing = [
  { id: 'one', type: 'prompt', prompt: 'One' },
  { id: 'say', type: 'prompt', prompt: 'sandbox:fail' },
];

async function open() {
  const { testKey, organizationId } = await product.createTenant({ plan: 'team' });
  const api = apiClient(product.process.api, testKey);
  const create = (body: object, headers = {}) => api.post('/api/v1/bulk-actions', body, { ...inA, ...headers });
  const read = async (id: string) => (await api.get(`/api/v1/bulk-actions/${id}`, inA)).body.data;
  return {
    api,
    organizationId,
    create,
    read,
    ended: (id: string) =>
      until('the bulk action has ended', async () => {
        const found = await read(id);
        return found.completedAt !== null && found;
      }),
    async runs(count: number, steps: object[], more: object = {}): Promise<{ workflowId: string; ids: string[] }> {
      const { id: workflowId } = await makeWorkflow(api, { steps, ...more });
      const items = Array.from({ length: count }, () => ({ tags: ['bulk'] }));
      const { batchId } = (await api.post(`/api/v1/workflows/${workflowId}/batch`, { items }, inA)).body.data;
      const { runs } = (await api.get(`/api/v1/runs?limit=100&batchId=${batchId}`, inA)).body.data;
      return { workflowId, ids: runs.map(({ runId, id }: { runId?: string; id: string }) => runId ?? id) };
    },
    statuses: async (workflowId: string): Promise<string[]> => {
      const { runs } = (await api.get(`/api/v1/runs?limit=100&workflowId=${workflowId}`, inA)).body.data;
      return runs.map(({ status }: { status: string }) => status);
    },
  };
}
type Opened = Awaited<ReturnType<typeof open>>;

const allHave = (on: Opened, workflowId: string, status: string) =>
  until(`all are ${status}`, async () => (await on.statuses(workflowId)).every((one) => one === status));
/** Empty too where no worker could answer in time, as on a busy machine: then its caller asks again. */
const detailsOf = (handle: WorkflowHandle): Promise<string> =>
  handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata').then(
    ({ currentDetails = '' }) => currentDetails,
    () => '',
  );
const today = () => ({
  from: new Date(Date.now() - 3_600_000).toISOString(),
  to: new Date(Date.now() + 60_000).toISOString(),
});

test('cancels the runs that are named, once each, and says what became of the others', async () => {
  const on = await open();
  const { workflowId, ids } = await on.runs(3, slow, { concurrency: { limit: 1, strategy: 'queue' } });
  const other = await open();
  const { ids: foreign } = await other.runs(1, [], {});
  const runs = [...ids, runIds.format(ids[0]!), unknownId, foreign[0], 'nonsense'];
  const dry = await on.create({ action: 'cancel', runIds: runs, dryRun: true });
  expect([dry.status, dry.body.data]).toEqual([
    200,
    { total: 6, examples: [...ids, unknownId, foreign[0], 'nonsense'] },
  ]);
  const { status, body } = await on.create({ action: 'cancel', runIds: runs });
  expect([status, body.data]).toEqual([
    202,
    { id: expect.stringMatching(/^bulk_[0-9a-f]{32}$/), status: 'pending', total: 6 },
  ]);
  const done = await on.ended(body.data.id);
  expect(done).toMatchObject({
    action: 'cancel',
    status: 'completed',
    counts: { total: 6, succeeded: 3, failed: 3, skipped: 0 },
  });
  expect(done.errors.map(({ runId, code }: { runId: string; code: string }) => [runId, code])).toEqual([
    ['nonsense', 'run_not_found'],
    [unknownId, 'run_not_found'],
    [foreign[0], 'run_not_found'],
  ]);
  expect(await on.statuses(workflowId)).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED']);

  const again = (await on.create({ action: 'cancel', runIds: ids })).body.data;
  expect((await on.ended(again.id)).counts).toEqual({ total: 3, succeeded: 0, failed: 0, skipped: 3 });
  const { bulkActions, pagination } = (await on.api.get('/api/v1/bulk-actions', inA)).body.data;
  expect([bulkActions.map(({ id }: { id: string }) => id), pagination.total]).toEqual([[again.id, body.data.id], 2]);
  expect((await other.api.get(`/api/v1/bulk-actions/${again.id}`, inA)).status).toBe(404);
  expect((await other.api.post(`/api/v1/bulk-actions/${again.id}/abort`, {}, inA)).status).toBe(404);
  expect(
    (await on.api.get(`/v1/bulk-actions/${body.data.id}`, { 'x-api-variant': 'B' })).body.data.errors[1].runId,
  ).toBe(runIds.format(unknownId));
});

test('retries the runs that match a filter when it is created, with the definition that is asked for', async () => {
  const on = await open();
  const { workflowId, ids } = await on.runs(12, failing);
  await allHave(on, workflowId, 'FAILED');
  const { workflowId: completed } = await on.runs(2, [{ id: 'say', type: 'prompt', prompt: 'x' }]);
  await allHave(on, completed, 'COMPLETED');
  const filter = { ...today(), tag: ['bulk'] };
  const dry = (await on.create({ action: 'retry', filter, dryRun: true })).body.data;
  expect([dry.total, dry.examples.length]).toEqual([14, 10]);
  const steps = [failing[0], { id: 'say', type: 'prompt', prompt: 'Fine' }];
  await on.api.request('PATCH', `/api/v1/workflows/${workflowId}`, { steps });
  const { id } = (await on.create({ action: 'retry', filter, definition: 'current' })).body.data;
  expect(await on.ended(id)).toMatchObject({ counts: { total: 14, succeeded: 12, failed: 0, skipped: 2 } });
  const retried = await until('all retries have completed', async () => {
    const { runs } = (await on.api.get(`/api/v1/runs?limit=100&workflowId=${workflowId}&status=completed`, inA)).body
      .data;
    return runs.length === 12 && runs;
  });
  const { rows } = await product.database.pool.query('select retry_of as of from run where id = any($1)', [
    retried.map(({ runId, id: other }: { runId?: string; id: string }) => runId ?? other),
  ]);
  expect(rows.map(({ of }) => of).toSorted()).toEqual(ids.toSorted());
  // The runs that it made match too, and are not retried.
  expect(await on.statuses(workflowId)).toHaveLength(24);
});

test('counts the retries that it makes as runs of the day, and no others', async () => {
  await untilDayHasRoom(60);
  const on = await open();
  // The header is about the window with fewer requests left: the day.
  await updateOrganization(product.database, on.organizationId, { rateMinute: 10_000, rateDay: 5_000 });
  const { workflowId, ids } = await on.runs(2, failing);
  await allHave(on, workflowId, 'FAILED');
  const { ids: unended } = await on.runs(3, [{ id: 'nap', type: 'wait', for: 'P300D' }]);
  const remaining = async () => Number((await on.api.get('/api/v1/health')).headers.get('x-ratelimit-remaining'));
  const before = await remaining();
  const { id } = (await on.create({ action: 'retry', runIds: [...ids, ...unended] })).body.data;
  let requests = 2;
  const { counts, errors } = await until('the bulk action has ended', async () => {
    requests++;
    const found = await on.read(id);
    return found.completedAt !== null && found;
  });
  expect(before - (await remaining())).toBe(requests + 2);
  expect(counts).toEqual({ total: 5, succeeded: 2, failed: 3, skipped: 0 });
  expect(errors.map(({ code }: { code: string }) => code)).toEqual(['conflict', 'conflict', 'conflict']);
});

test('is done once per Idempotency-Key', async () => {
  const on = await open();
  const key = { 'Idempotency-Key': `bulk-${Date.now()}` };
  const body = { action: 'cancel', runIds: [unknownId] };
  const first = await on.create(body, key);
  const again = await on.create(body, key);
  expect(again.body.data).toEqual(first.body.data);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await on.create({ ...body, action: 'retry' }, key)).status).toBe(422);
});

test.each([
  [{ action: 'cancel' }, ['runIds', 'filter']],
  [
    { action: 'cancel', runIds: [unknownId], filter: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } },
    ['runIds', 'filter'],
  ],
  [{ action: 'cancel', filter: { from: '2026-01-01T00:00:00Z' } }, ['filter.to']],
  [
    { action: 'cancel', filter: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', workflow: 'x' } },
    ['filter'],
  ],
  [{ action: 'cancel', runIds: [] }, ['runIds']],
  [{ action: 'cancel', runIds: Array.from({ length: 501 }, () => 'x') }, ['runIds']],
  [{ action: 'delete', runIds: ['x'] }, ['action']],
])('a request that is wrong is refused (%#)', async (body, paths) => {
  const { status, body: answer } = await (await open()).create(body);
  expect([status, answer.error.details.errors.map(({ path }: { path: string }) => path)]).toEqual([400, paths]);
});

/** Locks a run against being retried. An attempt at it gives up after five seconds, and comes again. */
const lockOf = (id: string) => `select from run where id = '${id}' for update`;

/**
 * Lets a retry go on that has used up the three seconds of its activity, so that it is the last of that activity. PostgreSQL
 * looks by itself, because on a busy machine the retry could have given up before this process releases it.
 */
const releaseLate = (holder: pg.Client) =>
  holder.query(`do $$
    begin
      for look in 1..2000 loop
        if exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
                      and clock_timestamp() - waitstart between interval '3.1 seconds' and interval '4.5 seconds') then
          return;
        end if;
        perform pg_sleep(0.05);
      end loop;
      raise 'No retry has waited long.';
    end $$;
    rollback`);

test('is one workflow in Temporal that operators pause and resume; two may be open, and one is aborted while it is paused', async () => {
  const on = await open();
  const { workflowId, ids } = await on.runs(4, failing);
  await allHave(on, workflowId, 'FAILED');
  const { workflow } = new Client({ connection });
  const handleOf = (id: string) => workflow.getHandle(bulkActionWorkflowId(bulkActionIds.parse(id)!));
  const started: string[] = [];
  const startBoth = async (holders: pg.Client[]) => {
    for (const runs of [ids.slice(0, 2), ids.slice(2)]) {
      started.push((await on.create({ action: 'retry', runIds: runs })).body.data.id);
    }
    const third = await on.create({ action: 'cancel', runIds: ids });
    expect([third.status, third.body.error.code]).toEqual([409, 'conflict']);
    for (const id of started) {
      await until('it has begun', async () => (await on.read(id)).status === 'running');
      await handleOf(id).signal(bulkActionMessages.pause);
    }
    await Promise.all(holders.map(releaseLate));
  };
  // A retry of the first run of each waits for one of these transactions.
  await whileHeld(product, lockOf(ids[0]!), (one) =>
    whileHeld(product, lockOf(ids[2]!), (other) => startBoth([one, other])),
  );
  const [aborted, resumed] = started as [string, string];
  for (const id of started) {
    await until('the first run is retried', async () => (await on.read(id)).counts.succeeded === 1);
    await until('it is paused', async () => /^Paused.*`resume`.* 1 of 2 runs/.test(await detailsOf(handleOf(id))));
  }
  expect((await on.api.post(`/api/v1/bulk-actions/${aborted}/abort`, {}, inA)).body.data).toMatchObject({
    status: 'aborted',
    counts: { total: 2, succeeded: 1, failed: 0, skipped: 0 },
  });
  await until('its workflow ends', async () => (await handleOf(aborted).describe()).status.name === 'CANCELLED');
  await handleOf(resumed).signal(bulkActionMessages.resume);
  expect(await on.ended(resumed)).toMatchObject({ status: 'completed', counts: { total: 2, succeeded: 2 } });
  expect(await handleOf(resumed).result()).toEqual({ total: 2, succeeded: 2, failed: 0, skipped: 0 });
  // Nothing more is retried of the aborted one.
  expect(await on.statuses(workflowId)).toHaveLength(4 + 3);
});

test('that an operator cancels or terminates in Temporal is aborted', async () => {
  const on = await open();
  const { workflowId, ids } = await on.runs(2, failing);
  await allHave(on, workflowId, 'FAILED');
  const { workflow } = new Client({ connection });
  await whileHeld(product, `select from run where id in ('${ids.join("', '")}') for update`, async () => {
    for (const [run, stop] of [
      [ids[0]!, 'cancel'],
      [ids[1]!, 'terminate'],
    ] as const) {
      const { id } = (await on.create({ action: 'retry', runIds: [run] })).body.data;
      await until('it has begun', async () => (await on.read(id)).status === 'running');
      await workflow.getHandle(bulkActionWorkflowId(bulkActionIds.parse(id)!))[stop]();
      expect(await on.ended(id)).toMatchObject({ status: 'aborted', counts: { total: 1, succeeded: 0 } });
    }
  });
  await allHave(on, workflowId, 'FAILED');
  expect(await on.statuses(workflowId)).toHaveLength(2);
});
