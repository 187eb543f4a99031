import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { removeOldRuns } from '../../src/automation/runs/remove-runs.ts';
import { countRunBlocks } from '../../src/automation/runs/run-blocks.ts';
import { removeDueFiles } from '../../src/storage/sweep.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { asOwner } from '../as-owner.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { openFiles } from '../storage/open-files.ts';
import { until } from '../until.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const execute = async (workflowId: string, input: unknown, headers = {}): Promise<string> =>
  (await api.post(`/v1/workflows/${workflowId}/execute`, { input }, { 'x-api-variant': 'A', ...headers })).body.data
    .runId;
const query = (sql: string, ...values: unknown[]) => product.database.pool.query(sql, values);
const pathOf = (name: string) => join(runningServers().folder, 'files', name.slice(0, 2), name);
const fileOf = async (runId: string): Promise<string> =>
  (await query('select output_file as file from run_step where run_id = $1', runIds.parse(runId))).rows[0].file;
const storedBytes = async () => {
  const { rows } = await query(
    `select coalesce(sum(bytes), 0)::float8 as bytes from storage_used where organization_id = $1 and environment = 'test'`,
    organizationIds.parse(product.tenant.organizationId),
  );
  return rows[0].bytes as number;
};
const large = {
  steps: [
    { id: 'copy', type: 'transform', expression: 'input' },
    { id: 'last', type: 'prompt', prompt: 'x' },
  ],
};

describe('deleting a run', () => {
  test('removes it with all that belongs to it, and gives its bytes free', async () => {
    const { id } = await makeWorkflow(api, large);
    const before = await storedBytes();
    const kept = await execute(id, 'kept');
    const runId = await execute(id, 'x'.repeat(300_000));
    expect(await storedBytes()).toBe(before + 600_006);
    const file = await fileOf(runId);
    expect(existsSync(pathOf(file))).toBe(true);

    expect(await api.delete(`/v1/runs/${runId}`)).toMatchObject({ status: 200, body: { data: { deleted: true } } });
    expect((await api.get(`/v1/runs/${runId}`)).body.error.code).toBe('run_not_found');
    expect((await api.get(`/v1/runs/${runId}/outputs/copy`)).status).toBe(404);
    expect((await api.delete(`/v1/runs/${runId}`)).body.error.code).toBe('run_not_found');
    await until('its file is gone', async () => !existsSync(pathOf(file)));
    await until('its bytes are free', async () => (await storedBytes()) === before);
    const left = await query(
      `select (select count(*) from run_step where run_id = $1) + (select count(*) from file where name = $2) as rows`,
      runIds.parse(runId),
      file,
    );
    expect(left.rows[0].rows).toBe('0');
    expect((await api.get(`/v1/runs/${kept}`)).status).toBe(200);
  });

  test('gives the rows of many steps free, which count besides their outputs', async () => {
    const map = (items: number) => ({
      id: 'each',
      type: 'map',
      items: `input.filter(one, one < ${items})`,
      steps: [{ id: 'one', type: 'transform', expression: '1' }],
    });
    const input = Array.from({ length: 100 }, (_, index) => index);
    const before = await storedBytes();
    const few = await execute((await makeWorkflow(api, { steps: [map(10)] })).id, input);
    expect([(await endOf(api, few)).status, await storedBytes()]).toEqual(['completed', before]);
    // With the map itself, 41 rows; its output has more than 1 KiB.
    const many = await execute((await makeWorkflow(api, { steps: [map(40)] })).id, input);
    expect((await endOf(api, many)).status).toBe('completed');
    const { rows } = await query(
      'select count(*)::int as steps, max(output_bytes) as bytes from run_step where run_id = $1',
      runIds.parse(many),
    );
    expect(rows[0].steps).toBe(41);
    expect(await storedBytes()).toBe(before + 32 * 1_024 + rows[0].bytes);
    for (const runId of [few, many]) expect((await api.delete(`/v1/runs/${runId}`)).status).toBe(200);
    expect(await storedBytes()).toBe(before);
  });

  test('works in both dialects, and leaves retries their files', async () => {
    const { id } = await makeWorkflow(api, large);
    const before = await storedBytes();
    const runId = await execute(id, 'y'.repeat(300_000));
    const retried = await api.post(`/v1/runs/${runId}/retry`, { fromStep: 'last' });
    const retry = retried.body.data.runId;
    await endOf(api, retry);
    const file = await fileOf(runId);
    const wireId = runIds.format(runIds.parse(runId)!);
    expect(await api.delete(`/v1/runs/${wireId}`, inB)).toMatchObject({
      status: 200,
      body: { data: { deleted: true } },
    });
    await removeDueFiles(openFiles(product.database, join(runningServers().folder, 'files')), 1_000);
    expect(existsSync(pathOf(file))).toBe(true);
    expect((await api.get(`/v1/runs/${retry}/outputs/copy`)).body.data.output).toBe('y'.repeat(300_000));
    await api.delete(`/v1/runs/${retry}`);
    await until('the file of both is gone', async () => !existsSync(pathOf(file)));
    // The next test counts them.
    await until('their bytes are free', async () => (await storedBytes()) === before);
  });

  test('gives free what a retry took over, which was counted once for all of its steps', async () => {
    const copies = Array.from({ length: 5 }, (_, n) => ({ id: `copy_${n}`, type: 'transform', expression: 'input' }));
    const { id } = await makeWorkflow(api, { steps: [...copies, { id: 'last', type: 'prompt', prompt: 'x' }] });
    const empty = await storedBytes();
    const runId = await execute(id, 'z'.repeat(2_000));
    const before = await storedBytes();
    await asOwner(
      product,
      `create sequence storage_changes;
       create function count_storage_change() returns trigger language plpgsql security definer as $$
         begin perform nextval('storage_changes'); return null; end $$;
       create trigger counted after insert or update on storage_used for each row
         when (new.organization_id = '${organizationIds.parse(product.tenant.organizationId)}')
         execute function count_storage_change()`,
    );
    const retry = (await api.post(`/v1/runs/${runId}/retry`, { fromStep: 'last' })).body.data.runId;
    await endOf(api, retry);
    const { rows } = await asOwner(product, 'select last_value::int as changes from storage_changes');
    await asOwner(product, 'drop function count_storage_change cascade; drop sequence storage_changes');
    // Its input is the other one.
    expect(rows).toEqual([{ changes: 2 }]);
    expect(await storedBytes()).toBe(before + (before - empty));
    await api.delete(`/v1/runs/${retry}`);
    await until('its bytes are free', async () => (await storedBytes()) === before);
  });

  test('one that has not ended is refused with 409, and one of another organization with 404', async () => {
    const { id } = await makeWorkflow(api, 'sandbox:slow=600');
    const runId = (await api.post(`/v1/workflows/${id}/execute`, { input: 'x', async: true })).body.data.runId;
    expect(await api.delete(`/v1/runs/${runId}`)).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    const other = apiClient(product.process.api, (await product.createTenant()).testKey);
    expect((await other.delete(`/v1/runs/${runId}`)).body.error.code).toBe('run_not_found');
    await api.post(`/v1/runs/${runId}/cancel`);
    expect((await api.delete(`/v1/runs/${runId}`)).status).toBe(200);
  });

  test('a request that is repeated with its Idempotency-Key gets 409, and makes no second run', async () => {
    const { id } = await makeWorkflow(api);
    const headers = { 'idempotency-key': 'a-run-that-goes', 'x-api-variant': 'A' };
    const runId = await execute(id, 'x', headers);
    await api.delete(`/v1/runs/${runId}`);
    const again = await api.post(`/v1/workflows/${id}/execute`, { input: 'x' }, headers);
    expect(again).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  });
});

test('lists show what is left, in blocks that were counted and in those that were not', async () => {
  const { id } = await makeWorkflow(api);
  const first = await execute(id, 'x');
  // A thousand runs by requests would take minutes.
  await query(
    `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, variables,
                      finished_steps, total_steps, correlation_id, created_at, finished_at)
     select uuidv7(), organization_id, environment, automation_id, definition_id, number + n,
            case when n % 4 = 0 then 'failed' else 'completed' end, '{}', 1, 1, 'x', now(), now()
       from run, generate_series(1, 2100) n where id = $1`,
    first,
  );
  await query('update automation set total_runs = 2101 where id = $1', id);
  const left = async (status?: string): Promise<string[]> =>
    (
      await query(
        'select id from run where automation_id = $1 and ($2::text is null or status = $2) order by number desc',
        id,
        status ?? null,
      )
    ).rows.map((row) => row.id);
  const expectLists = async () => {
    for (const status of [undefined, 'failed']) {
      const expected = await left(status);
      for (const offset of [0, 90, 1_050, expected.length - 3, expected.length + 10]) {
        const { data } = (
          await api.get(`/v1/workflows/${id}/runs?limit=10&offset=${offset}${status ? `&status=${status}` : ''}`)
        ).body;
        const shown = { offset, total: data.pagination.total, ids: data.runs.map((run: { id: string }) => run.id) };
        expect(shown).toEqual({ offset, total: expected.length, ids: expected.slice(offset, offset + 10) });
      }
    }
  };
  const all = await left();
  for (const at of [0, 5, 600, 1_500, 2_100]) await api.delete(`/v1/runs/${all[at]}`);
  await expectLists();
  await countRunBlocks(product.database);
  for (const at of [1, 700, 1_700]) await api.delete(`/v1/runs/${all[at]}`);
  await expectLists();
});

test('runs are removed when they ended longer ago than their plan keeps them', async () => {
  const { id } = await makeWorkflow(api);
  const [old, young] = [await execute(id, 'z'.repeat(300_000)), await execute(id, 'young')];
  const age = (runId: string, days: number) =>
    query('update run set finished_at = now() - make_interval(days => $2::int) where id = $1', runId, days);
  await age(old, 3_651);
  await age(young, 3_649);
  await removeOldRuns(product.database);
  expect((await api.get(`/v1/runs/${old}`)).status).toBe(404);
  expect((await api.get(`/v1/runs/${young}`)).status).toBe(200);
  const free = await product.createTenant({ plan: 'free' });
  const client = apiClient(product.process.api, free.testKey);
  const made = await makeWorkflow(client);
  const runId = (await client.post(`/v1/workflows/${made.id}/execute`, { input: 'x' })).body.data.runId;
  await age(runId, 31);
  await removeOldRuns(product.database);
  expect((await client.get(`/v1/runs/${runId}`)).status).toBe(404);
  expect((await client.get(`/v1/workflows/${made.id}/runs`)).body.data.pagination.total).toBe(0);
});

test('runs of many steps are removed in portions, and one that cannot be removed holds up no other', async () => {
  const { id } = await makeWorkflow(api);
  const runs = await Promise.all(['first', 'stuck', 'last'].map((input) => execute(id, input)));
  const ids = runs.map((runId) => runIds.parse(runId));
  await query(
    "update run set finished_at = now() - interval '3651 days', total_steps = 10000 where id = any($1::uuid[])",
    ids,
  );
  const stuck = ids[1];
  await asOwner(
    product,
    `create function refuse_removal() returns trigger language plpgsql as $$ begin raise 'It stays.'; end $$;
     create trigger refuse_removal before delete on run for each row when (old.id = '${stuck}')
       execute function refuse_removal();`,
  );
  const left = async () =>
    (await query('select id from run where id = any($1::uuid[])', ids)).rows.map((row) => row.id);
  try {
    await expect(removeOldRuns(product.database)).rejects.toThrow('It stays.');
    expect(await left()).toEqual([stuck]);
  } finally {
    await asOwner(product, 'drop function refuse_removal cascade');
  }
  await removeOldRuns(product.database);
  expect(await left()).toEqual([]);
});
