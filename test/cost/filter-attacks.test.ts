import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { type ApiClient, apiClient, untilTaken } from '../api-client.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { eventsUrl } from '../integrations/events-scene.ts';
import { providerEvents } from '../integrations/provider-events.ts';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What the filters of one organization may cost the others.
jest.setTimeout(300_000);

let product: MeasuredProduct;
beforeAll(async () => {
  product = await startMeasured();
});
afterAll(() => product.close());

const subscribe = (client: ApiClient, hook: object) =>
  untilTaken('the webhook is created or refused', () => client.post('/api/v1/webhooks', hook));

const list = (length: number) => Array.from({ length }, (_, index) => index);

/** Nearly as much processor time as a filter may take, or more. */
const letters = `"${'a'.repeat(700)}"`;
const costly = `${letters}.split("").all(x, (${letters} + x).split("").all(y, (x + y).contains("a"))) && event.data.contactId != ""`;

test('a thousand events for costly filters do not keep the events of another organization waiting', async () => {
  const { api, process, walk, database } = product;
  await connectInSandbox(api, process.api, 'hubspot');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { account, signingSecret } = integrations.find(({ id }: { id: string }) => id === 'hubspot').sandbox;
  for (const index of list(20)) {
    const url = `https://hooks-${index}.example.com/`;
    const hook = { name: 'Hook', url, events: ['hubspot.contact_created'], filter: costly };
    expect((await subscribe(api, hook)).status).toBe(201);
  }
  const door = 'POST /api/v1/integrations/{integrationId}/events';
  let sent = 0;
  const { status } = await walk.send({ door, name: '1,000 signed events for costly filters' }, () => {
    const contacts = list(1_000).map((index) => providerEvents.hubspot.contact(Number(account), sent + index));
    sent += 1_000;
    const { body, headers } = providerEvents.hubspot.sign(signingSecret, contacts, eventsUrl('hubspot'));
    return exchange(process.api, { method: 'POST', path: '/api/v1/integrations/hubspot/events', body, headers });
  });
  expect(status).toBe(200);

  // While they are evaluated, which takes long, the main thread serves everyone.
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const other = apiClient(process.api, testKey);
  await connectInSandbox(other, process.api, 'hubspot');
  const hook = { name: 'Mine', url: 'https://hooks.example.com/', events: ['hubspot.deal_updated'] };
  const filter = 'event.data.value == "now"';
  const { body } = await subscribe(other, Object.assign({ filter }, hook));
  const data = { dealId: '1', property: 'stage', value: 'now', occurredAt: '2026-11-20T09:30:00.000Z' };
  for (const times of list(5)) {
    expect((await other.post('/v1/integrations/hubspot/triggers/deal_updated', data)).status).toBe(202);
    await until(
      'the event of the other is delivered',
      async () => {
        const { rows } = await database.pool.query(
          'select count(*)::int as n from delivery where subscription_id = $1',
          [webhookIds.parse(body.data.id)],
        );
        return rows[0].n === times + 1;
      },
      // Far less than all the filters take.
      60_000,
    );
  }
  const { rows } = await database.pool.query('select count(*)::int as n from event_addressing');
  expect(rows[0].n).toBeGreaterThan(0);
  expect(walk.takeExcesses()).toEqual([]);
});
