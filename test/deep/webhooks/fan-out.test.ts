import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { webhookIds } from '../../../src/webhooks/core/ids.ts';
import { sweepDeliveryBacklog } from '../../../src/webhooks/deliveries/delivery-backlog.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { connectInSandbox } from '../../integrations/connect-in-sandbox.ts';
import { eventsUrl, from } from '../../integrations/events-scene.ts';
import { providerEvents } from '../../integrations/provider-events.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { withinMinute } from '../../tenancy/rate-windows.ts';
import { until } from '../../until.ts';
import { openReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { webhookEnv } from '../../webhooks/scene.ts';

const { hubspot } = providerEvents;

let product: Product;
let front: ProductProcess;
let receiver: Receiver;
beforeAll(async () => {
  product = await openProduct({ env: webhookEnv });
  [front, receiver] = await Promise.all([product.start(['api']), openReceiver()]);
});
afterAll(async () => {
  await receiver.close();
  await product.close();
});

interface Sandbox {
  tenant: Tenant;
  api: ApiClient;
  account: string;
  signingSecret: string;
}

const ask = (sql: string, values: unknown[] = []) => product.database.pool.query(sql, values);
const count = async (sql: string, values: unknown[] = []): Promise<number> =>
  (await ask(`select count(*)::int as n ${sql}`, values)).rows[0].n;
const uuidOf = ({ tenant }: Sandbox) => organizationIds.parse(tenant.organizationId) ?? tenant.organizationId;

/** A tenant that connected HubSpot with its test key. */
async function connected(plan: string): Promise<Sandbox> {
  const tenant = await product.createTenant({ plan });
  const api = apiClient(front.api, tenant.testKey);
  await connectInSandbox(api, front.api, 'hubspot');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { sandbox } = integrations.find(({ id }: { id: string }) => id === 'hubspot');
  return { tenant, api, ...sandbox };
}

const listen = (api: ApiClient, path: string) =>
  api.post('/v1/integrations/hubspot/webhooks', { event: 'contact_created', url: receiver.url(path) });

/** Webhooks like the one that was created through the API, except for their paths. */
async function multiply(webhookId: string, times: number): Promise<void> {
  await ask(
    `insert into webhook_subscription
     select (jsonb_populate_record(s, jsonb_build_object('id', uuidv7(), 'url', s.url || '-' || n))).*
       from webhook_subscription s cross join generate_series(2, $2::int) n where s.id = $1`,
    [webhookIds.parse(webhookId), times],
  );
}

let eventIds = 0;
function send({ account, signingSecret }: Sandbox, events: number) {
  const contacts = Array.from({ length: events }, () => hubspot.contact(Number(account), ++eventIds));
  const { body, headers } = hubspot.sign(signingSecret, contacts, eventsUrl('hubspot'));
  return apiClient(front.api).post('/api/v1/integrations/hubspot/events', body, { ...from(), ...headers });
}

describe('an event that goes to many webhooks', () => {
  test('has at most 1,000 deliveries made by its request, and the rest once each, though processes are killed', async () => {
    const sandbox = await connected('team');
    const { body } = await listen(sandbox.api, '/many');
    await multiply(body.data.id, 60);
    const ofTenant = 'from delivery where organization_id = $1';
    const of = [uuidOf(sandbox)];
    expect((await send(sandbox, 50)).status).toBe(200);
    expect(await count(ofTenant, of)).toBeLessThanOrEqual(1_000);
    expect(await count('from event where organization_id = $1', of)).toBe(50);
    expect(await count('from event_fan_out where organization_id = $1', of)).toBeGreaterThan(0);

    // Nothing is attempted in time: the rows are counted.
    await ask(`update webhook_subscription set url = 'http://127.0.0.1:9/' where organization_id = $1`, of);
    const doomed = await product.start(['webhooks'], { FAIL_POINT: 'event.fanned_out' });
    await doomed.ended;
    expect(await count(ofTenant, of)).toBeLessThan(3_000);
    const worker = await product.start(['webhooks']);
    await until('all are created', async () => (await count(ofTenant, of)) === 3_000);
    await until('nothing is put off', async () => (await count('from event_fan_out')) === 0);
    expect(await count(`from (select distinct event_id, subscription_id ${ofTenant}) d`, of)).toBe(3_000);
    await worker.stop();
    await ask('update webhook_subscription set is_active = false where organization_id = $1', of);
  });

  test('of one type with more webhooks than one statement creates deliveries for', async () => {
    const sandbox = await connected('enterprise');
    const { body } = await listen(sandbox.api, '/thousands');
    await multiply(body.data.id, 1_300);
    const of = [uuidOf(sandbox)];
    expect((await send(sandbox, 1)).status).toBe(200);
    expect(await count('from delivery where organization_id = $1', of)).toBe(0);
    await ask(`update webhook_subscription set url = 'http://127.0.0.1:9/' where organization_id = $1`, of);
    const worker = await product.start(['webhooks']);
    await until('all are created', async () => (await count('from delivery where organization_id = $1', of)) === 1_300);
    await until('nothing is put off', async () => (await count('from event_fan_out')) === 0);
    await worker.stop();
    await ask('update webhook_subscription set is_active = false where organization_id = $1', of);
  });
});

describe('events that are signed for a sandbox', () => {
  test('count as requests: more than is left is refused whole, more than a window holds is too large', () =>
    withinMinute(async () => {
      const sandbox = await connected('free');
      await listen(sandbox.api, '/counted');
      const tooMany = await send(sandbox, 61);
      expect(tooMany).toMatchObject({
        status: 413,
        body: { error: { code: 'payload_too_large', details: { events: 61, limit: 60 } } },
      });
      const { status, headers } = await send(sandbox, 30);
      expect(status).toBe(200);
      const left = Number(headers.get('x-ratelimit-remaining'));
      // Another minute may have begun, in which nothing else was asked for.
      expect(left).toBeLessThanOrEqual(30);
      const events = () => count('from event where organization_id = $1', [uuidOf(sandbox)]);
      const before = await events();
      const refused = await send(sandbox, 31);
      expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await events()).toBe(before);
    }, 15));
});

test('the plan says how many webhooks there can be, of whichever kind', async () => {
  const { testKey } = await product.createTenant({ plan: 'free' });
  const api = apiClient(front.api, testKey);
  const url = (n: number) => receiver.url(`/hook-${n}`);
  for (let n = 0; n < 18; n++) {
    const answer = await api.post('/v1/webhooks', { name: 'Ours', url: url(n), events: ['workflow.run.completed'] });
    expect(answer.status).toBe(201);
  }
  expect((await listen(api, '/nineteenth')).status).toBe(201);
  const ofBookings = await api.post('/v1/scheduling/webhooks', { events: ['booking.created'], url: url(20) });
  expect(ofBookings.status).toBe(201);
  const forbidden = { status: 403, body: { error: { code: 'forbidden', details: { limit: 20, plan: 'free' } } } };
  expect(await listen(api, '/one-more')).toMatchObject(forbidden);
  expect(await api.post('/v1/scheduling/webhooks', { events: ['booking.created'], url: url(21) })).toMatchObject(
    forbidden,
  );
  const more = await api.post('/v1/webhooks', { name: 'Ours', url: url(21), events: ['workflow.run.completed'] });
  expect(more).toMatchObject(forbidden);
});

test('while as many deliveries wait as the plan allows, events are recorded and skipped, and recover brings them', async () => {
  const sandbox = await connected('free');
  const { body } = await listen(sandbox.api, '/full');
  const { id } = body.data;
  const began = new Date(Date.now() - 60_000).toISOString();
  const uuid = webhookIds.parse(id);
  // PostgreSQL knows nothing of those that come.
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  await owner.query('analyze delivery');
  await owner.end();
  await ask(
    `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, response_body_truncated, created_at, next_attempt_at)
     select uuidv7(), s.organization_id, s.environment, s.id, uuidv7(), s.events->>0, 'retrying', 1, 1, false, now(),
            timestamptz '2100-01-01'
       from webhook_subscription s cross join generate_series(1, 50000) where s.id = $1`,
    [uuid],
  );
  expect(await sweepDeliveryBacklog(product.database)).toBe(1);
  const worker = await product.start(['webhooks', 'runs']);
  expect((await send(sandbox, 3)).status).toBe(200);
  const health = async () => (await sandbox.api.get(`/v1/webhooks/${id}`)).body.data.health;
  // The table is asked, not the API: a free key has 60 requests a minute.
  const skipped = 'select count from skipped_events where subscription_id = $1';
  await until('they are skipped', async () => Number((await ask(skipped, [uuid])).rows[0]?.count) === 3);
  expect(await health()).toMatchObject({ skipped: 3 });
  const recover = await sandbox.api.post(`/v1/webhooks/${id}/recover`, { since: began });
  expect(recover).toMatchObject({ status: 202, body: { data: { queued: 0, complete: false } } });
  expect(receiver.to('/full')).toEqual([]);

  await ask(`delete from delivery where subscription_id = $1 and next_attempt_at = '2100-01-01'`, [uuid]);
  expect(await receiver.has('/full', 3)).toHaveLength(3);
  await until('nothing is skipped', async () => Number((await ask(skipped, [uuid])).rows[0]?.count ?? 0) === 0);
  expect(await health()).toMatchObject({ skipped: 0 });
  expect((await send(sandbox, 1)).status).toBe(200);
  expect(await receiver.has('/full', 4)).toHaveLength(4);
  await worker.stop();
});
