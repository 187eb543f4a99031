import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CpuMeter, cpuBetween } from '../../bench/cpu-meter.ts';
import { workflowIds } from '../../src/automation/core/ids.ts';
import { blackoutIds, calendarIds } from '../../src/scheduling/core/ids.ts';
import { eventTypes } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { asOwner } from '../as-owner.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { eventsUrl } from '../integrations/events-scene.ts';
import { providerEvents } from '../integrations/provider-events.ts';
import { httpServer } from '../loopback-server.ts';
import { openImageServer } from '../studio/image-server.ts';
import { blank, textBomb } from '../studio/pictures.ts';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What once stopped the product, each as it was done.
jest.setTimeout(600_000);

let product: MeasuredProduct;

beforeAll(async () => {
  product = await startMeasured({ EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
});
afterAll(() => product.close());

const withKey = () => ({ authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' });
const list = (length: number) => Array.from({ length }, (_, index) => index);

test('a step with a hundred thousand warnings keeps few of them', async () => {
  const { api, process, walk } = product;
  const step = {
    id: 'say',
    type: 'prompt',
    prompt: list(60_000)
      .map((index) => `{{m${index}}}`)
      .join(''),
  };
  const { id } = await makeWorkflow(api, { steps: [step] });
  const door = 'POST /api/v1/workflows/{id}/execute';
  await walk.send({ door, name: 'a hundred thousand warnings' }, () =>
    exchange(process.api, { method: 'POST', path: `/api/v1/workflows/${id}/execute`, body: '{}', headers: withKey() }),
  );
  const { runs } = (await api.get(`/api/v1/workflows/${id}/runs`)).body.data;
  const path = `/api/v1/runs/${runs[0].id}`;
  await walk.send({ door: 'GET /api/v1/runs/{id}', name: 'a run with a hundred thousand warnings' }, () =>
    exchange(process.api, { method: 'GET', path, headers: withKey() }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

test('prompts that repeat a large input leave the process to others in between', async () => {
  const { api, process, walk, database } = product;
  const steps = list(4).map((index) => ({ id: `s${index}`, type: 'prompt', prompt: '{{input}}'.repeat(9) }));
  const { id } = await makeWorkflow(api, { steps });
  // Each character takes more bytes, or more characters of JSON, than one.
  const body = JSON.stringify({ input: 'é\\"\n'.repeat(40_000), mode: 'async' });
  const path = `/api/v1/workflows/${id}/execute`;
  const left = `select count(*)::int as runs from run where automation_id = $1 and status in ('queued', 'running')`;
  const door = 'POST /api/v1/workflows/{id}/execute';
  await walk.send({ door, name: 'six runs of prompts that repeat a large input' }, async () => {
    const sent = list(6).map(() => exchange(process.api, { method: 'POST', path, body, headers: withKey() }));
    const [first] = await Promise.all(sent);
    await until('the runs end', async () => {
      const { rows } = await database.pool.query(left, [workflowIds.parse(id)]);
      return rows[0].runs === 0;
    });
    return first!;
  });
  const { runs } = (await api.get(`/api/v1/workflows/${id}/runs`)).body.data;
  expect(new Set(runs.map(({ status }: { status: string }) => status))).toEqual(new Set(['COMPLETED']));
  expect(walk.takeExcesses()).toEqual([]);
});

test('a picture whose text takes gigabytes costs little, in all processes', async () => {
  const meter = new CpuMeter();
  meter.watch('product', product.process.pid);
  const server = await openImageServer({ '/bomb.png': textBomb(await blank(64, 64).png().toBuffer()) });
  const send = () =>
    exchange(product.process.api, {
      method: 'POST',
      path: '/api/studio/upscale',
      headers: withKey(),
      body: JSON.stringify({ imageUrl: server.at('/bomb.png') }),
    });
  const before = meter.read();
  await product.walk.send({ door: 'POST /api/studio/upscale', name: 'a picture with gigabytes of text' }, send);
  const cost = cpuBetween(before, meter.read())?.byName.get('product') ?? 0;
  await server.close();
  expect(cost).toBeLessThan(10_000);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('measurements of anything but web vitals are dropped', async () => {
  const beacons = list(100).map((index) => ({ name: `any${index}`, value: 1, path: '/' }));
  const sent = { method: 'POST', path: '/api/performance/vitals', headers: { 'content-type': 'application/json' } };
  await exchange(product.process.api, Object.assign({ body: JSON.stringify(beacons) }, sent));
  const { vitals } = (await product.api.get('/api/performance/vitals')).body;
  expect(vitals.filter(({ name }: { name: string }) => name.startsWith('any'))).toEqual([]);
});

test('fifty requests with one Idempotency-Key are all answered, and others meanwhile', async () => {
  const { api, process } = product;
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const headers = { 'idempotency-key': createHash('sha256').update(product.organizationId).digest('hex') };
  const same = list(50).map(() => api.post('/api/v1/workflows', { name: 'Once', steps }, headers));
  const others = list(10).map(() => apiClient(process.api, product.liveKey).get('/api/v1/workflows'));
  const answers = await Promise.all([...same, ...others]);
  expect(answers.map(({ status }) => status).filter((status) => status >= 400)).toEqual([]);
  expect(new Set((await Promise.all(same)).map(({ body }) => body.data.id)).size).toBe(1);
  await until('the process rests', async () => (await api.get('/api/v1/workflows')).status === 200);
});

/** An organization that may ask as much as it likes, and what it asks as inputs of the walk. */
async function newAttacker() {
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(product.process.api, testKey);
  const read = (door: string, name: string, path: string) =>
    product.walk.send({ door: `GET ${door}`, name }, () =>
      exchange(product.process.api, { method: 'GET', path, headers: { authorization: `Bearer ${testKey}` } }),
    );
  return { api, read };
}
const scheduling = '/api/v1/scheduling';

/** On a busy machine, thousands of rows take longer than a statement of the product may. */
const insertMany = (sql: string) => asOwner(product, sql);

test('lists that are answered as a whole have at most 2 MiB, however large what is in them may be', async () => {
  const { api, read } = await newAttacker();
  const questionsOf = (count: number, of: string) =>
    list(count).map((index) => ({
      label: `${of} ${index}`,
      type: 'select',
      options: list(100).map((option) => `${option} ${'é'.repeat(60)}`),
    }));
  const create = (count: number, name: string) =>
    api.post(`${scheduling}/event-types`, { name, duration: 30, questions: questionsOf(count, name) });
  const refused = await create(50, 'Too large');
  expect([refused.status, refused.body.error.details.errors]).toEqual([
    400,
    [{ path: 'questions', message: 'Expected an event type of at most 64 KiB as JSON.' }],
  ]);
  const made = [];
  for (const index of list(40)) made.push(await create(4, `Large ${index}`));
  const [first, last] = [made[0]!, made.at(-1)!];
  expect([first.status, last.status, last.body.error.code]).toEqual([201, 409, 'conflict']);
  const small = (await api.post(`${scheduling}/event-types`, { name: 'Small', duration: 30 })).body.data;
  const grown = await api.patch(`${scheduling}/event-types/${small.id}`, { questions: questionsOf(4, 'Grown') });
  expect([grown.status, grown.body.error.code]).toEqual([409, 'conflict']);
  expect((await api.patch(`${scheduling}/event-types/${small.id}`, { duration: 45 })).status).toBe(200);
  await read('/api/v1/scheduling/event-types', 'the largest event types', `${scheduling}/event-types`);

  const blackout = { name: 'Closed', start: '2040-01-01', end: '2040-01-01', reason: '\u0001'.repeat(500) };
  const { id } = (await api.post(`${scheduling}/blackout-periods`, blackout)).body.data;
  await product.database.pool.query(
    `insert into blackout_period select (jsonb_populate_record(b, jsonb_build_object('id', gen_random_uuid()))).*
       from blackout_period b, generate_series(1, 470) where b.id = $1`,
    [blackoutIds.parse(id)],
  );
  await read('/api/v1/scheduling/blackout-periods', 'the largest blackouts', `${scheduling}/blackout-periods`);
  const more = [];
  for (const _ of list(12)) more.push((await api.post(`${scheduling}/blackout-periods`, blackout)).status);
  expect([more[0], more.at(-1)]).toEqual([201, 409]);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('lists of bookings with all that callers may attach have at most 2 MiB', async () => {
  const { api, read } = await newAttacker();
  const eventType = (await api.post(`${scheduling}/event-types`, { name: 'Attached', duration: 1 })).body.data;
  const attached = { text: 'a'.repeat(16_000) };
  const start = (minute: number) => new Date(Date.UTC(2040, 5, 13, 10, minute)).toISOString();
  const attendee = { name: 'Grace', email: 'grace@example.com' };
  for (const minute of list(100)) {
    const booking = {
      eventTypeId: eventType.id,
      start: start(minute),
      attendee,
      responses: attached,
      metadata: attached,
    };
    expect((await api.post(`${scheduling}/bookings`, booking)).status).toBe(201);
  }
  const path = `${scheduling}/bookings?limit=100`;
  await read('/api/v1/scheduling/bookings', 'all that may be attached', path);
  const { bookings } = (await api.get(path)).body.data;
  const referred = bookings.filter(({ metadata }: { metadata: object }) => '$ref' in metadata);
  expect(bookings).toHaveLength(100);
  expect([referred.length > 10, referred.length < 100]).toEqual([true, true]);
  expect(referred[0].metadata).toEqual({ $ref: `${scheduling}/bookings/${referred[0].id}`, bytes: 16_011 });
  expect((await api.get(referred[0].metadata.$ref)).body.data.metadata).toEqual(attached);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('a list of webhooks with all that they may have has at most 2 MiB', async () => {
  const { api, read } = await newAttacker();
  const value = '"'.repeat(395);
  const headers = Object.fromEntries(list(20).map((index) => [`x-header-${index}`, value]));
  const given = {
    name: 'é'.repeat(100),
    events: eventTypes.slice(0, 50),
    headers,
    filter: `event.type != "${'é'.repeat(1_900)}"`,
  };
  for (const index of list(100)) {
    const url = `https://hooks.example.com/${index}/`.padEnd(2_048, 'x');
    expect((await api.post('/api/v1/webhooks', { ...given, url })).status).toBe(201);
  }
  const path = '/api/v1/webhooks?limit=100';
  await read('/api/v1/webhooks', 'all that they may have', path);
  const { webhooks } = (await api.get(path)).body.data;
  const referred = webhooks.filter((one: { headers: object }) => '$ref' in one.headers);
  expect(webhooks).toHaveLength(100);
  expect([referred.length > 0, referred.length < 100]).toEqual([true, true]);
  expect(referred[0].headers).toEqual({ $ref: `/api/v1/webhooks/${referred[0].id}` });
  const own = referred[0].headers.$ref;
  expect((await api.patch(own, { headers: referred[0].headers })).status).toBe(400);
  expect((await api.get(own)).body.data.headers).toEqual(headers);
  expect(product.walk.takeExcesses()).toEqual([]);
});

/** Connects the calendar of an account of the sandbox. */
async function connectCalendar({ api }: Pick<Awaited<ReturnType<typeof newAttacker>>, 'api'>) {
  const { process } = product;
  let next: string | null = (await api.post(`${scheduling}/calendars/connect`, { service: 'google' })).body.data
    .authUrl;
  while (next) {
    const { pathname, search } = new URL(next, process.api);
    next = (await fetch(process.api + pathname + search, { redirect: 'manual' })).headers.get('location');
  }
  return (await api.get(`${scheduling}/calendars`)).body.data.calendars[0];
}

test('a list of as many calendars as there may be has at most 2 MiB, and all of them', async () => {
  const { api, read } = await newAttacker();
  const calendar = await connectCalendar({ api });
  // Ten for each of 500 hosts, whose names and errors are as long as they may be.
  await insertMany(
    `insert into calendar select (jsonb_populate_record(c, jsonb_build_object(
         'id', gen_random_uuid(), 'connection_id', gen_random_uuid(), 'name', repeat('é', 200), 'status', 'disconnected',
         'last_error_code', repeat('c', 40), 'last_error_message', repeat('é', 500), 'last_error_at', now()))).*
       from calendar c, generate_series(1, 4999) where c.id = '${calendarIds.parse(calendar.id)}'`,
  );
  await read('/api/v1/scheduling/calendars', 'as many as there may be', `${scheduling}/calendars`);
  const { calendars } = (await api.get(`${scheduling}/calendars`)).body.data;
  const ids = new Set(calendars.map(({ id }: { id: string }) => id));
  expect([ids.size, ids.has(calendar.id)]).toEqual([5_000, true]);
  const copied = calendars.filter(({ id }: { id: string }) => id !== calendar.id);
  expect(copied[0].name).toMatch(/^é+…$/);
  expect(copied[0].lastError.message).toMatch(/^é+…$/);
  expect(copied[0].lastError.code).toBe('c'.repeat(40));
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('a sandbox calendar shows the newest of its events alone', async () => {
  const { api, read } = await newAttacker();
  const calendar = await connectCalendar({ api });
  await insertMany(
    `insert into sandbox_calendar_event (organization_id, environment, calendar_id, event_id, version, event, booking_id)
     select organization_id, environment, id, 'booking-' || lpad(n::text, 5, '0'), 1,
            jsonb_build_object('id', n::text, 'start', '2040-01-01', 'end', '2040-01-02', 'title', repeat('é', 300)),
            gen_random_uuid()
       from calendar, generate_series(1, 20000) n where id = '${calendarIds.parse(calendar.id)}'`,
  );
  const path = `${scheduling}/calendars/${calendar.id}/sandbox`;
  await read('/api/v1/scheduling/calendars/{id}/sandbox', '20,000 events of bookings', path);
  const { written } = (await api.get(path)).body.data;
  expect([written.length, written[0].id, written.at(-1).id]).toEqual([500, '19501', '20000']);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('deliveries whose receiver answers what takes most as JSON have at most 2 MiB', async () => {
  const { api, read } = await newAttacker();
  const { database } = product;
  const receiver = await httpServer((_, response) => response.end('\u0001'.repeat(16_384)));
  const hook = { name: 'Hook', url: `http://127.0.0.1:${receiver.port}/`, events: ['*'] };
  const { id } = (await api.post('/api/v1/webhooks', hook)).body.data;
  for (const _ of list(100)) expect((await api.post(`/api/v1/webhooks/${id}/test`)).status).toBe(202);
  const path = `/api/v1/webhooks/${id}/deliveries`;
  const deliveries = await until('all are delivered', async () => {
    const { body } = await api.get(`${path}?limit=100&status=delivered`);
    return body.data.deliveries.length === 100 && body.data.deliveries;
  });
  await receiver.close();
  await read('/api/v1/webhooks/{id}/deliveries', 'large responses', `${path}?limit=100`);
  const bodies = deliveries.map((one: { responseBody: string }) => one.responseBody.length);
  expect([bodies.length, Math.min(...bodies), Math.max(...bodies)]).toEqual([100, 1_000, 16_384]);

  const [{ id: delivery }] = deliveries;
  await database.pool.query(
    `insert into delivery_attempt (delivery_id, number, organization_id, environment, started_at, duration_ms, status_code,
       response_body, response_body_truncated)
     select id, n, organization_id, environment, now(), 1, 500, repeat(chr(1), 16384), false
       from delivery, generate_series(1001, 1100) n where id = $1`,
    [deliveryIds.parse(delivery)],
  );
  await read('/api/v1/webhooks/{id}/deliveries/{deliveryId}', 'large responses', `${path}/${delivery}`);
  const { attemptLog } = (await api.get(`${path}/${delivery}`)).body.data;
  expect(attemptLog).toHaveLength(100);
  expect(attemptLog.some((one: { responseBodyTruncated: boolean }) => one.responseBodyTruncated)).toBe(true);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('a workflow that is deep and long is exported in few bytes', async () => {
  const { api, read } = await newAttacker();
  for (const [name, count] of [
    ['soon written', 40_000],
    ['as long as may be', 450_000],
  ] as const) {
    let body: unknown[] = list(count).map(() => 1);
    for (const _ of list(45)) body = [body];
    const steps = [{ id: 'ask', type: 'http', method: 'POST', url: 'https://example.com/', body }];
    const created = await api.post('/api/v1/workflows', { name: `Deep: ${name}`, steps });
    expect(created.status).toBe(201);
    const path = `/api/v1/workflows/${created.body.data.id}/export?format=yaml`;
    await read('/api/v1/workflows/{id}/export', `deep and long, ${name}`, path);
    const { status, body: text } = await api.get(path);
    expect([status, text.length < 2 * 1024 ** 2]).toEqual([200, true]);
  }
  expect(product.walk.takeExcesses()).toEqual([]);
});

// The last two leave work behind, which ends with the process.

test('a request of 1,000 events, with as many webhooks as the plan allows, writes a bounded number of rows', async () => {
  const { api, process, walk } = product;
  await connectInSandbox(api, process.api, 'hubspot');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { account, signingSecret } = integrations.find(({ id }: { id: string }) => id === 'hubspot').sandbox;
  const statuses = [];
  for (const index of list(25)) {
    const hook = { name: 'Hook', url: `https://hooks-${index}.example.com/`, events: ['hubspot.contact_created'] };
    statuses.push((await api.post('/api/v1/webhooks', hook)).status);
  }
  expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  let sent = 0;
  const door = 'POST /api/v1/integrations/{integrationId}/events';
  const { status } = await walk.send({ door, name: '1,000 signed events' }, () => {
    const contacts = list(1_000).map((index) => providerEvents.hubspot.contact(Number(account), sent + index));
    sent += 1_000;
    const { body, headers } = providerEvents.hubspot.sign(signingSecret, contacts, eventsUrl('hubspot'));
    return exchange(process.api, { method: 'POST', path: '/api/v1/integrations/hubspot/events', body, headers });
  });
  expect(status).toBe(200);
  expect(walk.takeExcesses()).toEqual([]);
});

test('a batch of 1,000 items in 4 MiB delays no other caller', async () => {
  const { process, walk } = product;
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(process.api, testKey);
  const { id } = (await api.post('/api/v1/workflows', { name: 'Batch', steps: [] })).body.data;
  let sent = 0;
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const door = 'POST /api/v1/workflows/{id}/batch';
  const { status } = await walk.send({ door, name: '1,000 items with all that they may have' }, () => {
    sent++;
    const items = list(1_000).map((index) => ({
      input: 'x'.repeat(500),
      tags: list(10).map((tag) => `tag-${sent}-${index}-${tag}`),
      metadata: { text: 'y'.repeat(3_000) },
      idempotencyKey: `key-${sent}-${index}`,
      delay: 86_400,
    }));
    return exchange(process.api, {
      method: 'POST',
      path: `/api/v1/workflows/${id}/batch`,
      body: JSON.stringify({ items }),
      headers,
    });
  });
  expect(status).toBe(202);
  expect(walk.takeExcesses()).toEqual([]);
});

test("pictures and videos of one organization do not keep another's pictures waiting until they are done", async () => {
  const { api, process } = product;
  const image = (await api.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
  const tenant = await product.createTenant({ plan: 'free' });
  const another = apiClient(process.api, tenant.testKey);
  const attack = [
    ...list(12).map(() => api.post('/api/studio/upscale', { imageUrl: image, scale: 4 })),
    ...list(12).map((index) => api.post('/api/studio/generate-video', { prompt: `Waves ${index}` })),
  ];
  const pictures = await Promise.all(
    list(4).map((index) => another.post('/api/studio/generate', { prompt: `${index}` })),
  );
  expect(pictures.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  // By their own times: the answers may wait for this process.
  const { rows } = await product.database.pool.query(
    `select count(*)::int as done from generation
      where organization_id = $1 and kind = 'upscale'
        and finished_at < (select max(finished_at) from generation where organization_id = $2)`,
    [product.organizationId, tenant.organizationId].map((id) => organizationIds.parse(id)),
  );
  expect(rows[0].done).toBeLessThan(12);
  void Promise.allSettled(attack);
});
