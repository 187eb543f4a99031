import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statements } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import '../../src/operations/search.ts';
import { apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { personWith } from './people.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

interface Hit {
  type: string;
  id: string;
  title: string;
}

test('finds ids, correlation ids and names, of the tenant alone, each with the scope that reads it', async () => {
  const { api, process } = product;
  const base = process.api;
  const find = async (client: typeof api, q: string): Promise<Hit[]> => {
    const { status, body } = await client.get(`/api/v1/search?q=${encodeURIComponent(q)}`);
    expect(status).toBe(200);
    return body.data.hits;
  };
  const steps = [{ id: 'say', type: 'prompt', prompt: 'Hello' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Daily Whalesong', steps })).body.data;
  const started = await api.post(
    `/api/v1/workflows/${id}/execute`,
    { input: 'x', async: true },
    { 'x-correlation-id': 'whale-0001' },
  );
  const { runId } = started.body.data;
  const workflow = { type: 'workflow', id, title: 'Daily Whalesong', at: expect.any(String) };
  const run = { type: 'run', id: runId, title: 'Daily Whalesong', at: expect.any(String) };
  expect(await find(api, id)).toEqual([workflow]);
  expect(await find(api, runId)).toEqual([run]);
  expect(await find(api, 'wHALEs')).toEqual([workflow]);
  const { rows } = await product.database.pool.query(
    `select correlation_id as of from run where automation_id = (select id from automation where name = 'Daily Whalesong')`,
  );
  expect(await find(api, rows[0].of)).toEqual([run]);
  expect(await find(api, '%%')).toEqual([]);

  const foreign = apiClient(base, (await product.createTenant()).testKey);
  const live = apiClient(base, product.tenant.liveKey);
  for (const q of [id, runId, 'Whalesong', rows[0].of]) {
    expect(await find(foreign, q)).toEqual([]);
    expect(await find(live, q)).toEqual([]);
  }
  const key = await (
    await personWith({ ...product, base, organizationId: product.tenant.organizationId }, 'owner')
  ).api.post('/api/v1/keys', { name: 'Reads workflows', environment: 'test', scopes: ['workflows:read'] });
  const reader = apiClient(base, key.body.data.key);
  expect(await find(reader, id)).toEqual([workflow]);
  expect(await find(reader, runId)).toEqual([]);

  expect((await api.delete(`/api/v1/workflows/${id}`)).status).toBe(200);
  for (const q of [id, runId, 'Whalesong']) expect(await find(api, q)).toEqual([]);
  for (const q of ['', 'x', 'x'.repeat(201)]) expect((await api.get(`/api/v1/search?q=${q}`)).status).toBe(400);
});

test('finds bookings by the address of their attendee and by their id', async () => {
  const { api, process } = product;
  const scene = sceneOf(api);
  const { id: eventTypeId } = await scene.offer();
  const attendee = { name: 'Grace Hopper', email: 'grace.search@example.com' };
  const booked = await scene.book(eventTypeId, '2051-03-01T10:00:00Z', { attendee });
  expect(booked.status).toBe(201);
  const hit = { type: 'booking', id: booked.body.data.id, title: 'Grace Hopper', at: '2051-03-01T10:00:00.000Z' };
  const find = async (client: typeof api, q: string) =>
    (await client.get(`/api/v1/search?q=${encodeURIComponent(q)}`)).body.data.hits;
  for (const q of ['grace.search@example.com', 'Grace.Search@Example.com', hit.id])
    expect(await find(api, q)).toEqual([hit]);
  const foreign = apiClient(process.api, (await product.createTenant()).testKey);
  expect(await find(foreign, 'grace.search@example.com')).toEqual([]);
});

test('finds event types by their names and generations by their ids and correlation ids', async () => {
  const { api, process } = product;
  const { id: eventTypeId } = (await api.post('/api/v1/scheduling/event-types', { name: 'Narwhal talk', duration: 30 }))
    .body.data;
  const find = async (client: typeof api, q: string) =>
    (await client.get(`/api/v1/search?q=${encodeURIComponent(q)}`)).body.data.hits;
  const eventType = { type: 'event_type', id: eventTypeId, title: 'Narwhal talk', at: expect.any(String) };
  for (const q of ['narwhal', eventTypeId]) expect(await find(api, q)).toEqual([eventType]);
  const correlationId = `narwhal-${newId()}`;
  const made = await api.post(
    '/api/studio/generate',
    { prompt: 'A narwhal at sea' },
    { 'x-correlation-id': correlationId },
  );
  expect(made.status).toBe(200);
  const generation = { type: 'generation', id: made.body.data.id, title: 'A narwhal at sea', at: expect.any(String) };
  for (const q of [correlationId, made.body.data.id]) expect(await find(api, q)).toEqual([generation]);
  const foreign = apiClient(process.api, (await product.createTenant()).testKey);
  for (const q of ['narwhal', eventTypeId, correlationId, made.body.data.id])
    expect(await find(foreign, q)).toEqual([]);
  expect((await api.delete(`/api/v1/scheduling/event-types/${eventTypeId}`)).status).toBe(200);
  expect(await find(api, 'narwhal talk')).toEqual([]);
});

test('bookings are found by indexes of the tenant', async () => {
  const { pool } = product.database;
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('set local enable_seqscan = off');
    await client.query('set local enable_bitmapscan = off');
    const definitionOf = async (index: string): Promise<string> =>
      (await client.query('select indexdef from pg_indexes where indexname = $1', [index])).rows[0].indexdef;
    // Among few rows the planner may take any index of the tenant, so it is asked for its conditions, and not for its name.
    for (const [name, index, columns] of [
      [
        'search.booking.correlation',
        'booking_search_correlation_index',
        'organization_id, environment, correlation_id',
      ],
      ['search.run.correlation', 'run_correlation_list_index', 'correlation_id, organization_id, environment'],
      ['search.generation.correlation', 'generation_search_correlation_index', 'correlation_id'],
    ] as const) {
      const { text, parameters } = statements.get(name)!;
      const values = { organizationId: newId(), environment: 'test', text: 'grace@example.com' };
      const given = Object.keys(parameters).map((parameter) => values[parameter as keyof typeof values]);
      const plan = JSON.stringify((await client.query(`explain ${text}`, given)).rows);
      expect(plan).toContain('Index Cond: (');
      expect(plan).not.toContain('Seq Scan');
      expect(await definitionOf(index)).toContain(columns);
    }
    const ofAttendees = await definitionOf('booking_search_attendee_index');
    expect(ofAttendees).toContain('(organization_id, environment, attendee_email, id)');
  } finally {
    await client.query('rollback');
    client.release();
  }
});
