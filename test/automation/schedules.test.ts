import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { restoreAutomationSchedules } from '../../src/automation/schedules/restore-schedules.ts';
import { TemporalClient } from '../../src/temporal/client.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  product = await sharedProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const pathOf = (id: string) => `/api/v1/workflows/${id}/schedule`;
const put = (id: string, body: object, api: ApiClient = product.api) => api.request('PUT', pathOf(id), body);
const inTemporal = (id: string) => temporal.schedule.getHandle(`schedule-${id}`);
const describeOrNone = (id: string) =>
  inTemporal(id)
    .describe()
    .catch(() => undefined);

/** Due once a year: whatever a test sees started, it asked for. */
const yearly = { cron: '30 3 1 2 *', timezone: 'UTC' };

describe('reading and writing', () => {
  test.each([
    ['A', { 'x-api-variant': 'A' }, '/api/v1', 'not_found'],
    ['B', inB, '/v1', 'RESOURCE_NOT_FOUND'],
  ])('in dialect %s', async (_, headers, mount, code) => {
    const { api } = product;
    const made = await makeWorkflow(api);
    const id = headers === inB ? made.wf : made.id;
    const path = `${mount}/workflows/${id}/schedule`;
    const none = { status: 404, body: { error: { code, details: { workflowId: id } } } };
    expect(await api.get(path, headers)).toMatchObject(none);

    const schedule = { ...yearly, paused: true, input: { any: ['value'] }, variables: { n: 3, style: 'plain' } };
    const written = await api.request('PUT', path, schedule, headers);
    expect(written).toMatchObject({ status: 200, body: { success: true, data: { ...schedule, lastRunAt: null } } });
    const { nextRunTimes } = written.body.data;
    const year = Number(nextRunTimes[0].slice(0, 4));
    expect(nextRunTimes).toEqual([0, 1, 2, 3, 4].map((more) => `${year + more}-02-01T03:30:00.000Z`));
    expect((await api.get(path, headers)).body).toEqual(written.body);

    // Nothing of the one before is left.
    const replaced = await api.request('PUT', path, { cron: '@hourly', timezone: 'Asia/Kolkata' }, headers);
    expect(replaced.body.data).toMatchObject({ cron: '@hourly', paused: false, input: null, variables: {} });
    expect(replaced.body.data.nextRunTimes[0]).toMatch(/:30:00\.000Z$/);

    const gone = { status: 200, body: { success: true, data: { deleted: true } } };
    expect(await api.delete(path, headers)).toMatchObject(gone);
    expect(await api.get(path, headers)).toMatchObject(none);
    expect(await api.delete(path, headers)).toMatchObject(none);
    expect(await describeOrNone(made.id)).toBeUndefined();
  });

  test.each([
    ['cron', 'nonsense', 'UTC'],
    ['cron', '* * * * * *', 'UTC'],
    ['cron', '60 * * * *', 'UTC'],
    ['cron', '0 22-2 * * *', 'UTC'],
    ['cron', '0 0 30 2 *', 'UTC'],
    ['cron', '0 0 L * *', 'UTC'],
    ['cron', '@every 5m', 'UTC'],
    ['cron', 'TZ=UTC 0 0 * * *', 'UTC'],
    ['cron', `0 0 ${'1,'.repeat(200)}1 * *`, 'UTC'],
    ['timezone', '@daily', 'Mars/Olympus'],
    ['timezone', '@daily', '+02:00'],
    ['timezone', '@daily', ''],
  ])('refuses a wrong %s: %s, %s', async (path, cron, timezone) => {
    const { id } = await makeWorkflow(product.api);
    expect(await put(id, { cron, timezone })).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path }] } } },
    });
    expect(await product.api.get(pathOf(id))).toMatchObject({ status: 404 });
    expect(await describeOrNone(id)).toBeUndefined();
  });

  test('takes Sunday as 0 and 7, and refuses what is wrong in words of its own', async () => {
    const { id } = await makeWorkflow(product.api);
    const taken = await put(id, { cron: '0 9 * * 0,7', timezone: 'UTC' });
    expect([taken.status, taken.body.data.cron]).toEqual([200, '0 9 * * 0,7']);
    const days = taken.body.data.nextRunTimes.map((time: string) => new Date(time).getUTCDay());
    expect(days).toEqual([0, 0, 0, 0, 0]);
    const refused = await put(id, { cron: '0 22-2 * * *', timezone: 'UTC' });
    expect(refused.body.error.details.errors).toEqual([
      { path: 'cron', message: 'The range "22-2" of the hour ends before it begins.' },
    ]);
  });

  test('refuses variables that do not satisfy the inputs', async () => {
    const inputs = [
      { name: 'city', type: 'string', required: true },
      { name: 'days', type: 'number', required: true, default: 3 },
    ];
    const { id } = await makeWorkflow(product.api, { inputs });
    const refused = (name: string) => ({
      status: 400,
      body: { error: { details: { errors: [{ path: `inputs.${name}` }] } } },
    });
    expect(await put(id, yearly)).toMatchObject(refused('city'));
    expect(await put(id, { ...yearly, variables: { city: 'Rome', days: '3' } })).toMatchObject(refused('days'));
    expect(await put(id, { ...yearly, variables: { city: 'Rome' } })).toMatchObject({ status: 200 });
  });

  test('reads the variables under the word of either dialect', async () => {
    const { id } = await makeWorkflow(product.api);
    const inputs = { city: 'Rome', days: 3 };
    const rows = [
      { sent: { inputs }, shown: { variables: inputs, input: inputs } },
      { sent: { inputs, input: 'news' }, shown: { variables: inputs, input: 'news' } },
      { sent: { variables: inputs }, shown: { variables: inputs, input: null } },
    ];
    for (const { sent, shown } of rows) {
      for (const variant of ['A', 'B']) {
        const body = { ...yearly, ...sent };
        const answer = await product.api.request('PUT', pathOf(id), body, { 'x-api-variant': variant });
        expect(answer).toMatchObject({ status: 200, body: { data: shown } });
        expect(answer.body.data).not.toHaveProperty('inputs');
      }
    }
  });

  test('knows no workflow of another organization or environment, and asks for its scopes', async () => {
    const { tenant, database, process, createTenant } = product;
    const { id } = await makeWorkflow(product.api);
    await put(id, yearly);
    const stranger = await createTenant();
    for (const key of [stranger.testKey, tenant.liveKey]) {
      const api = apiClient(process.api, key);
      const unknown = { status: 404, body: { error: { code: 'workflow_not_found', details: { workflowId: id } } } };
      expect(await put(id, yearly, api)).toMatchObject(unknown);
      expect(await api.get(pathOf(id))).toMatchObject(unknown);
      expect(await api.delete(pathOf(id))).toMatchObject(unknown);
    }
    const { organizationId } = tenant;
    const scoped = await createKey(database, { organizationId, environment: 'test', scopes: ['workflows:read'] });
    const reader = apiClient(process.api, scoped.key);
    expect(await reader.get(pathOf(id))).toMatchObject({ status: 200 });
    expect(await put(id, yearly, reader)).toMatchObject({ status: 403 });
    expect(await reader.delete(pathOf(id))).toMatchObject({ status: 403 });
  });

  test('of requests at once the last one to be written is what Temporal has', async () => {
    const { api, database } = product;
    const { id } = await makeWorkflow(api);
    const requests = Array.from({ length: 12 }, (_, minute) =>
      minute % 4 === 3 ? api.delete(pathOf(id)) : put(id, { ...yearly, cron: `${minute} 0 1 1 *` }),
    );
    for (const { status } of await Promise.all(requests)) expect([200, 404]).toContain(status);
    const { rows } = await database.pool.query('select revision from automation_schedule where automation_id = $1', [
      id,
    ]);
    const described = await describeOrNone(id);
    expect(described?.action.args?.[0]?.revision).toBe(rows[0]?.revision);
    if (rows[0])
      expect((await api.get(pathOf(id))).body.data.nextRunTimes[0]).toBe(
        described!.info.nextActionTimes[0]!.toISOString(),
      );
  });

  test('pausing and resuming reach Temporal', async () => {
    const { id } = await makeWorkflow(product.api);
    for (const paused of [false, true, false]) {
      expect((await put(id, { ...yearly, paused })).body.data.paused).toBe(paused);
      expect((await inTemporal(id).describe()).state.paused).toBe(paused);
    }
  });
});

describe('what operators do in Temporal', () => {
  test('a pause and other times are shown, until the schedule is written again', async () => {
    const { id } = await makeWorkflow(product.api);
    await put(id, { ...yearly, paused: false });
    await inTemporal(id).pause('An operator wants quiet.');
    expect((await product.api.get(pathOf(id))).body.data).toMatchObject({ ...yearly, paused: true });
    await inTemporal(id).update((now) => ({
      ...now,
      spec: { calendars: [{ month: 'JULY', dayOfMonth: 4, hour: 5 }], timezone: 'UTC' },
    }));
    const changed = (await product.api.get(pathOf(id))).body.data;
    expect(changed).toMatchObject({ ...yearly, paused: true });
    expect(changed.nextRunTimes[0]).toMatch(/-07-04T05:00:00\.000Z$/);
    const written = (await put(id, yearly)).body.data;
    expect(written).toMatchObject({ ...yearly, paused: false });
    expect(written.nextRunTimes[0]).toMatch(/-02-01T03:30:00\.000Z$/);
    expect((await inTemporal(id).describe()).state.paused).toBe(false);
  });

  test('a Schedule that was deleted is restored, and one that is there is left alone', async () => {
    const [deleted, kept] = [await makeWorkflow(product.api), await makeWorkflow(product.api)];
    await put(deleted.id, { ...yearly, paused: true });
    await put(kept.id, yearly);
    await inTemporal(kept.id).pause();
    await inTemporal(deleted.id).delete();
    const settings = { connection, namespace: 'default', taskQueuePrefix: product.taskQueuePrefix };
    const client = new TemporalClient(settings);
    // The product's own housekeeping may come first.
    await until('it is restored', async () => {
      await restoreAutomationSchedules(product.database, client);
      return describeOrNone(deleted.id);
    });
    const { revision } = (await describeOrNone(deleted.id))!.action.args![0];
    const { rows } = await product.database.pool.query(
      'select revision from automation_schedule where automation_id = $1',
      [deleted.id],
    );
    expect(rows).toEqual([{ revision }]);
    expect((await describeOrNone(deleted.id))!.state.paused).toBe(true);
    expect((await describeOrNone(kept.id))!.state.paused).toBe(true);
  });
});
