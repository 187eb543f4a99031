import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { wantedSchedule } from '../../../src/automation/schedules/temporal-schedules.ts';
import { TemporalClient } from '../../../src/temporal/client.ts';
import { keepSchedule } from '../../../src/temporal/schedules.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { createKey } from '../../../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../../../src/tenancy/organizations.ts';
import { apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { sharedProduct } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { untilDayHasRoom } from '../../tenancy/rate-windows.ts';
import { until } from '../../until.ts';

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

const inTemporal = (id: string) => temporal.schedule.getHandle(`schedule-${id}`);
const isGone = (id: string) =>
  inTemporal(id)
    .describe()
    .then(
      () => false,
      () => true,
    );

/** Due once a day, at a time that does not come while a test runs. */
const daily = () => {
  const hour = (new Date().getUTCHours() + 12) % 24;
  return { cron: `0 ${hour} * * *`, timezone: 'UTC', hour };
};

async function schedule(id: string, body: object): Promise<void> {
  const { status } = await product.api.request('PUT', `/v1/workflows/${id}/schedule`, body);
  expect(status).toBe(200);
}

/** The same day for all tests, whatever day begins meanwhile. */
const today = new Date();

/** Makes a time of the past due, as an operator's backfill does. @returns the time as it names what it starts */
async function fire(id: string, { hour }: { hour: number }, daysAgo: number): Promise<string> {
  const due = new Date(today);
  due.setUTCDate(due.getUTCDate() - daysAgo);
  due.setUTCHours(hour, 0, 0, 0);
  await inTemporal(id).backfill({ start: new Date(due.getTime() - 1_000), end: due, overlap: 'ALLOW_ALL' });
  return due.toISOString().replace('.000Z', 'Z');
}

/** What became of the firings of a time, once there are as many. */
async function outcomes(id: string, time: string, count = 1): Promise<unknown[]> {
  const query = `WorkflowId = 'schedule-${id}-${time}' AND ExecutionStatus != 'Running'`;
  return until(`${count} firings have ended`, async () => {
    const found = [];
    for await (const { workflowId, runId } of temporal.workflow.list({ query })) found.push({ workflowId, runId });
    if (found.length < count) return undefined;
    return Promise.all(found.map((one) => temporal.workflow.getHandle(one.workflowId, one.runId).result()));
  });
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
const runsOf = async (id: string): Promise<any[]> =>
  (await product.api.get(`/v1/workflows/${id}/runs`, { 'x-api-variant': 'A' })).body.data.runs;

const endedRun = (id: string) =>
  until('a run ends', async () => (await runsOf(id)).find(({ status }) => status === 'COMPLETED'), 120_000);

const lastRunAt = async (id: string) => (await product.api.get(`/v1/workflows/${id}/schedule`)).body.data.lastRunAt;

test('an operator triggers it, also while it is paused, and the run takes what is true then', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api, 'old {{input}}');
  await schedule(id, { ...daily(), input: 'first' });
  const more = { tags: ['nightly'], metadata: { team: 'ops' }, priority: 1, expiresIn: '1d' };
  await schedule(id, { ...daily(), input: 'second', paused: true, ...more });
  await api.patch(`/v1/workflows/${id}`, { steps: [{ id: 'say', type: 'prompt', prompt: 'new {{input}}' }] });
  await inTemporal(id).trigger();
  const run = await endedRun(id);
  expect(run.output.result).toContain('new second');
  expect(run).toMatchObject({
    tags: ['nightly'],
    metadata: { team: 'ops' },
    priority: 1,
    expiresAt: expect.any(String),
  });
  expect(await runsOf(id)).toHaveLength(1);
});

test('a time that had its run has no second one', async () => {
  const { id } = await makeWorkflow(product.api);
  const when = daily();
  await schedule(id, when);
  const time = await fire(id, when, 2);
  const [first] = await outcomes(id, time);
  expect(first).toEqual({ started: expect.any(String) });
  await fire(id, when, 2);
  expect(await outcomes(id, time, 2)).toEqual([first, first]);
  expect(await runsOf(id)).toHaveLength(1);
});

test('a workflow that cannot run is passed over, until it can', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api);
  const when = daily();
  await schedule(id, when);
  await api.patch(`/v1/workflows/${id}`, { isActive: false });
  expect(await outcomes(id, await fire(id, when, 5))).toEqual([{ skipped: 'workflow_inactive' }]);
  const inputs = [{ name: 'city', type: 'string', required: true }];
  await api.patch(`/v1/workflows/${id}`, { isActive: true, inputs });
  const last = await fire(id, when, 4);
  expect(await outcomes(id, last)).toEqual([{ skipped: 'validation_error' }]);
  const { lastSkipped } = (await api.get(`/v1/workflows/${id}/schedule`)).body.data;
  expect(lastSkipped).toEqual({ at: last.replace('Z', '.000Z'), reason: 'validation_error' });
  expect(await runsOf(id)).toEqual([]);
  expect(await lastRunAt(id)).toBeNull();
  await schedule(id, { ...when, variables: { city: 'Rome' } });
  expect(await outcomes(id, await fire(id, when, 3))).toEqual([{ started: expect.any(String) }]);
  expect(await lastRunAt(id)).not.toBeNull();
});

test('a run that the concurrency of its workflow skips is recorded', async () => {
  const { api } = product;
  const fields = { steps: [{ id: 'nap', type: 'wait', for: 3_600 }], concurrency: { limit: 1, strategy: 'skip' } };
  const { id } = await makeWorkflow(api, fields);
  const when = daily();
  await schedule(id, when);
  const [first] = await outcomes(id, await fire(id, when, 3));
  expect(first).toEqual({ started: expect.any(String) });
  const time = await fire(id, when, 2);
  expect(await outcomes(id, time)).toEqual([{ skipped: 'concurrency' }]);
  const { lastSkipped } = (await api.get(`/v1/workflows/${id}/schedule`)).body.data;
  expect(lastSkipped).toEqual({ at: time.replace('Z', '.000Z'), reason: 'concurrency' });
  await api.post(`/v1/runs/${(first as { started: string }).started}/cancel`);
});

test('its runs count in the limit of the day, and are passed over when that is used up', async () => {
  const { database } = product;
  await untilDayHasRoom(60);
  const { id: organizationId } = await createOrganization(database, { name: 'Daily', plan: 'team', rateDay: 10 });
  const { key } = await createKey(database, { organizationId, environment: 'test' });
  const api = apiClient(product.process.api, key);
  const { id } = await makeWorkflow(api);
  const when = daily();
  const path = `/v1/workflows/${id}/schedule`;
  expect((await api.request('PUT', path, when)).body.data.lastSkipped).toBeNull();
  expect(await outcomes(id, await fire(id, when, 5))).toEqual([{ started: expect.any(String) }]);
  // The workflow, its schedule, one run and this request.
  expect((await api.get('/v1/credits')).headers.get('x-ratelimit-remaining')).toBe('6');
  // Twice the same time is one run, and counts once.
  await fire(id, when, 5);
  await outcomes(id, await fire(id, when, 4));
  expect((await api.get('/v1/credits')).headers.get('x-ratelimit-remaining')).toBe('4');
  for (let sent = 0; sent < 4; sent++) await api.get('/v1/health');
  const time = await fire(id, when, 3);
  expect(await outcomes(id, time)).toEqual([{ skipped: 'rate_limit_exceeded' }]);
  await updateOrganization(database, organizationId, { rateDay: 100 });
  const skipped = { at: time.replace('Z', '.000Z'), reason: 'rate_limit_exceeded' };
  expect((await api.get(path)).body.data.lastSkipped).toEqual(skipped);
  expect((await api.request('PUT', path, when)).body.data.lastSkipped).toEqual(skipped);
  expect((await api.get(`/v1/workflows/${id}/runs`)).body.data.pagination.total).toBe(2);
});

test('a Temporal Schedule that was left behind starts only what is still due, and is brought in line', async () => {
  const { database } = product;
  const { id } = await makeWorkflow(product.api);
  const when = daily();
  await schedule(id, when);
  /** Writes like a process that dies before it notifies Temporal, and whose outbox entry is still to come. */
  const leaveBehind = (cron: string, paused = false) =>
    database.pool.query(
      'update automation_schedule set revision = gen_random_uuid(), cron = $2, paused = $3 where automation_id = $1',
      [id, cron, paused],
    );
  await leaveBehind(`30 ${when.hour} * * *`);
  expect(await outcomes(id, await fire(id, when, 5))).toEqual([{ outdated: true }]);
  const { spec } = await inTemporal(id).describe();
  expect(spec.calendars).toMatchObject([{ minute: [{ start: 30 }] }]);

  await schedule(id, when);
  await leaveBehind(when.cron, true);
  expect(await outcomes(id, await fire(id, when, 4))).toEqual([{ outdated: true }]);
  expect((await inTemporal(id).describe()).state.paused).toBe(true);
  expect(await runsOf(id)).toEqual([]);

  await schedule(id, when);
  await leaveBehind(`0 ${when.hour},${(when.hour + 1) % 24} * * *`);
  expect(await outcomes(id, await fire(id, when, 3))).toEqual([{ started: expect.any(String) }]);
});

test('a deleted workflow has no schedule, in Temporal neither', async () => {
  const { api, database } = product;
  const { id } = await makeWorkflow(api);
  await schedule(id, daily());
  await api.delete(`/v1/workflows/${id}`);
  expect(await api.get(`/v1/workflows/${id}/schedule`)).toMatchObject({ status: 404 });
  expect(await api.request('PUT', `/v1/workflows/${id}/schedule`, daily())).toMatchObject({ status: 404 });
  await until('Temporal has forgotten it', () => isGone(id));
  await until('its row is gone', async () => {
    const { rows } = await database.pool.query('select from automation_schedule where automation_id = $1', [id]);
    return rows.length === 0;
  });
});

test('a schedule of a workflow that is no more starts nothing and removes itself', async () => {
  const { taskQueuePrefix, tenant } = product;
  const id = randomUUID();
  const when = daily();
  const client = new TemporalClient({ connection, namespace: 'default', taskQueuePrefix });
  const wanted = wantedSchedule({
    organizationId: organizationIds.parse(tenant.organizationId)!,
    environment: 'test',
    automationId: id,
    revision: randomUUID(),
    expressions: [when.cron],
    timezone: 'UTC',
    paused: false,
  });
  await keepSchedule(client, wanted.id, () => wanted);
  expect(await outcomes(id, await fire(id, when, 1))).toEqual([{ outdated: true }]);
  await until('it is gone', () => isGone(id));
});

// The others go on while it waits.
test.concurrent('the clock starts an ordinary run, with the defaults of its inputs', async () => {
  const { api, database, tenant } = product;
  const { id } = await makeWorkflow(api, {
    inputs: [{ name: 'style', type: 'string', required: false, default: 'plain' }],
    steps: [{ id: 'say', type: 'prompt', prompt: '{{input}} / {{style}} / {{city}}' }],
  });
  await schedule(id, { cron: '* * * * *', timezone: 'Europe/Berlin', input: 'news', variables: { city: 'Rome' } });
  const run = await endedRun(id);
  expect(run.input).toEqual({ input: 'news', variables: { city: 'Rome', style: 'plain' } });
  expect(run.output.result).toContain('news / plain / Rome');
  expect(await lastRunAt(id)).toBe(run.createdAt);
  await schedule(id, { cron: '* * * * *', timezone: 'Europe/Berlin', paused: true });
  expect(await lastRunAt(id)).toBe(run.createdAt);

  const { rows } = await database.pool.query('select * from run where id = $1', [run.id]);
  expect(rows[0]).toMatchObject({
    number: 1,
    environment: 'test',
    organization_id: organizationIds.parse(tenant.organizationId)!,
  });
  const started = new Date(Math.floor(Date.parse(run.createdAt) / 60_000) * 60_000);
  expect(rows[0].correlation_id).toBe(`schedule-${id}-${started.toISOString().replace('.000Z', 'Z')}`);
});
