import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { connectInSandbox } from '../../integrations/connect-in-sandbox.ts';
import { eventsUrl, from } from '../../integrations/events-scene.ts';
import { providerEvents } from '../../integrations/provider-events.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { until } from '../../until.ts';
import { openReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { inA, webhookEnv } from '../../webhooks/scene.ts';

// The lease of a process that was killed has to end.
jest.setTimeout(300_000);

const { hubspot } = providerEvents;

let product: Product;
let front: ProductProcess;
let receiver: Receiver;
beforeAll(async () => {
  product = await openProduct({ env: webhookEnv });
  [front, receiver] = await Promise.all([product.start(['api', 'runs']), openReceiver()]);
});
afterAll(async () => {
  await receiver.close();
  await product.close();
});

const count = async (sql: string, values: unknown[] = []): Promise<number> =>
  (await product.database.pool.query(`select count(*)::int as n ${sql}`, values)).rows[0].n;

/** A tenant that connected HubSpot with its test key. */
async function connected(): Promise<{ tenant: Tenant; api: ApiClient; send(events: number): Promise<number> }> {
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(front.api, tenant.testKey);
  await connectInSandbox(api, front.api, 'hubspot');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { account, signingSecret } = integrations.find(({ id }: { id: string }) => id === 'hubspot').sandbox;
  const send = async (events: number) => {
    const contacts = Array.from({ length: events }, (_, index) => hubspot.contact(Number(account), index + 1));
    const { body, headers } = hubspot.sign(signingSecret, contacts, eventsUrl('hubspot'));
    return (await apiClient(front.api).post('/api/v1/integrations/hubspot/events', body, { ...from(), ...headers }))
      .status;
  };
  return { tenant, api, send };
}

test.each(['event.addressing', 'event.filtered', 'event.addressed'])(
  'a process that is killed at %s loses no event, and none is delivered twice',
  async (failPoint) => {
    const { tenant, api, send } = await connected();
    const of = [organizationIds.parse(tenant.organizationId) ?? tenant.organizationId];
    const paths = [1, 2, 3].map((index) => `/${failPoint}-${index}`);
    for (const [index, path] of paths.entries()) {
      const filter = `event.data.contactId.endsWith("${index}")`;
      const webhook = { name: 'Ours', url: receiver.url(path), events: ['hubspot.contact_created'], filter };
      expect((await api.post('/v1/webhooks', webhook)).status).toBe(201);
    }
    expect(await send(40)).toBe(200);
    expect(await count('from delivery where organization_id = $1', of)).toBe(0);
    expect(await count('from event_addressing where organization_id = $1', of)).toBe(40);

    const doomed = await product.start(['webhooks'], { FAIL_POINT: failPoint });
    await doomed.ended;
    const worker = await product.start(['webhooks']);
    const left = 'from event_addressing where organization_id = $1';
    await until('all are addressed', async () => (await count(left, of)) === 0, 120_000);
    for (const path of paths) await receiver.has(path, 4);
    expect(await count('from delivery where organization_id = $1', of)).toBe(12);
    expect(
      await count(`from (select distinct event_id, subscription_id from delivery where organization_id = $1) d`, of),
    ).toBe(12);
    await worker.stop();
    for (const path of paths) {
      const ids = receiver.to(path).map(({ body }) => JSON.parse(body).id);
      expect(new Set(ids).size).toBe(4);
    }
  },
);

test.each(['delivery.leased', 'delivery.sent', 'delivery.recorded'])(
  'deliveries about one run keep their order when a process is killed at %s',
  async (failPoint) => {
    const { testKey } = await product.createTenant({ plan: 'enterprise' });
    const api = apiClient(front.api, testKey);
    const path = `/ordered-${failPoint}`;
    const events = ['workflow.run.started', 'workflow.run.completed'];
    const webhook = { name: 'Ours', url: receiver.url(path), events, ordering: 'subject' };
    expect((await api.post('/v1/webhooks', webhook)).status).toBe(201);
    const { id } = await makeWorkflow(api, '{{input}}');
    const runs = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { body } = await api.post(`/v1/workflows/${id}/execute`, { inputs: {} }, inA);
        return body.data.runId as string;
      }),
    );
    const doomed = await product.start(['webhooks'], { FAIL_POINT: failPoint });
    await doomed.ended;
    const worker = await product.start(['webhooks']);
    const arrived = () => receiver.to(path).map(({ body }) => JSON.parse(body));
    await until(
      'all have arrived',
      async () => new Set(arrived().map((event) => event.id)).size === 2 * runs.length,
      120_000,
    );
    for (const runId of runs) {
      // One may arrive again whose process was killed before it was recorded, but none of them late.
      const types = arrived()
        .filter(({ data }) => data.id === runId)
        .map(({ type }) => type);
      expect(types.toSorted().toReversed()).toEqual(types);
    }
    await worker.stop();
  },
);
