import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { until } from '../until.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
type Body = any;

let scene: SharedWebhookScene;
let api: ApiClient;
beforeAll(async () => {
  scene = await sharedWebhookScene();
  api = await hubspotTenant();
});
afterAll(() => scene.close());

/** A tenant that can cause events of HubSpot. */
async function hubspotTenant(): Promise<ApiClient> {
  const { testKey } = await scene.product.createTenant({ plan: 'enterprise' });
  const client = apiClient(scene.process.api, testKey);
  await connectInSandbox(client, scene.process.api, 'hubspot');
  return client;
}

const pathOf = ({ id }: Body) => `/v1/webhooks/${id}`;
const updated = 'hubspot.deal_updated';

async function create(fields: object, of = api): Promise<Body> {
  const path = `/filtered-${crypto.randomUUID()}`;
  const answer = await of.post('/v1/webhooks', {
    name: 'Ours',
    url: scene.receiver.url(path),
    events: [updated],
    ...fields,
  });
  expect(answer.status).toBe(201);
  return { ...answer.body.data, path };
}

let deals = 0;
/** An event of a deal, with a value that filters look at. @returns its id */
async function happen(value: string, of = api): Promise<string> {
  const data = { dealId: String(++deals), property: 'stage', value, occurredAt: '2026-11-20T09:30:00.000Z' };
  const answer = await of.post('/v1/integrations/hubspot/triggers/deal_updated', data);
  expect(answer.status).toBe(202);
  return answer.body.data.eventId;
}

const arrived = (webhook: Body): Body[] => scene.receiver.to(webhook.path).map(({ body }) => JSON.parse(body));
const deliveriesOf = async (webhook: Body, of = api): Promise<Body[]> =>
  (await of.get(`${pathOf(webhook)}/deliveries?limit=100`)).body.data.deliveries;
const show = async (webhook: Body, of = api): Promise<Body> => (await of.get(pathOf(webhook))).body.data;
/** Waits until an event has been looked at by all webhooks: one that gets every event has it. */
const reaches = (webhook: Body, eventId: string) =>
  until(`${eventId} arrives`, async () => arrived(webhook).some(({ id }) => id === eventId));

/** Takes much more processor time than a filter may. */
const letters = `"${'a'.repeat(850)}"`;
const looks = Array.from({ length: 6 }, () => '(x + y).contains("a")').join(' && ');
const costly = `${letters}.split("").all(x, (${letters} + x).split("").all(y, ${looks}))`;

describe('a filter', () => {
  test('lets through the events for which it is true, and no others', async () => {
    const filter = 'event.data.value == "won"';
    const won = await create({ filter });
    const all = await create({});
    const rest = await create({ filter: `!(${filter})` });
    expect(won).toMatchObject({ filter, filterErrors: 0 });
    expect(all).toMatchObject({ filter: null, filterErrors: 0 });
    const ids = [await happen('won'), await happen('lost'), await happen('won')];
    for (const id of ids) await reaches(all, id);
    for (const id of [ids[0]!, ids[2]!]) await reaches(won, id);
    await reaches(rest, ids[1]!);
    expect(
      arrived(won)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([ids[0], ids[2]]);
    expect(arrived(rest).map(({ id }) => id)).toEqual([ids[1]]);
    expect(arrived(all)).toHaveLength(3);
    // What does not match has no delivery at all.
    expect(await deliveriesOf(won)).toHaveLength(2);
    expect(await deliveriesOf(rest)).toHaveLength(1);
    expect(await show(won)).toMatchObject({ filter, filterErrors: 0 });
  });

  test('looks at the whole body, also where the webhook gets a thin one', async () => {
    const filter = `event.type == "${updated}" && event.id.startsWith("evt_") && event.data.integration == "hubspot"
      && event.data.value == "thin" && timestamp(event.createdAt) > timestamp("2026-01-01T00:00:00Z")`;
    const webhook = await create({ filter, payload: 'thin' });
    const [other, id] = [await happen('thick'), await happen('thin')];
    await reaches(webhook, id);
    expect(arrived(webhook)).toEqual([{ id, type: updated, createdAt: expect.any(String), data: { id } }]);
    expect(arrived(webhook).map(({ id: one }) => one)).not.toContain(other);
  });

  test('is changed and given up, for the events that come', async () => {
    const webhook = await create({ filter: 'event.data.value == "a"' });
    await reaches(webhook, await happen('a'));
    const change = (filter: string | null) => api.patch(pathOf(webhook), { filter });
    expect((await change('event.data.value == "b"')).body.data.filter).toBe('event.data.value == "b"');
    await happen('a');
    await reaches(webhook, await happen('b'));
    expect((await change(null)).body.data.filter).toBeNull();
    await reaches(webhook, await happen('a'));
    await reaches(webhook, await happen('c'));
    expect(arrived(webhook).map(({ data }) => data.value)).toEqual(['a', 'b', 'a', 'c']);
  });

  test('does not hold back tests and examples', async () => {
    const webhook = await create({ filter: 'false' });
    expect((await api.post(`${pathOf(webhook)}/test`)).status).toBe(202);
    expect((await api.post(`${pathOf(webhook)}/send-example`, { type: 'booking.created' })).status).toBe(202);
    await scene.receiver.has(webhook.path, 2);
    expect(
      arrived(webhook)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(['booking.created', 'test.webhook']);
  });

  test('holds for what is recovered', async () => {
    const webhook = await create({ filter: 'event.data.value == "wanted"' });
    const since = new Date(Date.now() - 60_000).toISOString();
    await api.patch(pathOf(webhook), { isActive: false });
    const ids = [await happen('wanted'), await happen('unwanted'), await happen('wanted')];
    await api.patch(pathOf(webhook), { isActive: true });
    const answer = await api.post(`${pathOf(webhook)}/recover`, { since });
    expect(answer.status).toBe(202);
    await reaches(webhook, ids[0]!);
    await reaches(webhook, ids[2]!);
    expect((await deliveriesOf(webhook)).map(({ eventId }) => eventId).toSorted()).toEqual([ids[0], ids[2]]);
  });
});

describe('a filter that fails', () => {
  test('makes no delivery and is counted, until another is given', async () => {
    const webhook = await create({ filter: 'event.data.nothing.at.all == 1' });
    const all = await create({});
    await reaches(all, await happen('any'));
    await reaches(all, await happen('any'));
    await until('both are counted', async () => (await show(webhook)).filterErrors === 2);
    expect(await deliveriesOf(webhook)).toEqual([]);
    const same = await api.patch(pathOf(webhook), { filter: 'event.data.nothing.at.all == 1' });
    expect(same.body.data.filterErrors).toBe(2);
    const changed = await api.patch(pathOf(webhook), { filter: 'true' });
    expect(changed.body.data.filterErrors).toBe(0);
  });

  test('because it takes too long fails by itself', async () => {
    const of = await hubspotTenant();
    const slow = await create({ filter: costly }, of);
    const others = await Promise.all([1, 2, 3].map(() => create({ filter: 'event.data.value == "now"' }, of)));
    const id = await happen('now', of);
    for (const webhook of others) await reaches(webhook, id);
    await until('it is counted', async () => (await show(slow, of)).filterErrors === 1);
    expect(await deliveriesOf(slow, of)).toEqual([]);
  });

  test.each([
    ['', /Expected an expression/],
    ['event.data.value ==', /ends too early/],
    ['event.data.value', /^$/],
    ['1 + 1', /must be true or false/],
    ['input.value == 1', /input/],
    ['event.type.matches("a+")', /matches/],
    [`event.type == "${'a'.repeat(2_000)}"`, /2000 characters|2,000 characters/],
  ])('is refused when it is saved, if the fault is visible then: %s', async (filter, message) => {
    const body = { name: 'Ours', url: scene.receiver.url('/none'), events: [updated], filter };
    const webhook = await create({});
    const answers = [await api.post('/v1/webhooks', body), await api.patch(pathOf(webhook), { filter })];
    if (filter === 'event.data.value') {
      // Its type shows only as it runs.
      expect(answers.map(({ status }) => status)).toEqual([201, 200]);
      return;
    }
    for (const { status, body: refused } of answers) {
      expect(status).toBe(400);
      expect(refused.error.details.errors).toEqual([{ path: 'filter', message: expect.stringMatching(message) }]);
    }
    expect((await show(webhook)).filter).toBeNull();
  });
});

test('many events for many filters have one delivery each that matches', async () => {
  const of = await hubspotTenant();
  const webhooks = await Promise.all(
    Array.from({ length: 12 }, (_, index) => create({ filter: `event.data.value.endsWith("${index % 4}")` }, of)),
  );
  await Promise.all(Array.from({ length: 40 }, (_, index) => happen(`deal ${index % 10}`, of)));
  const { rows } = await until('all are created', async () => {
    const found = await scene.product.database.pool.query(
      'select subscription_id, event_id from delivery where subscription_id = any($1)',
      [webhooks.map(({ id }) => webhookIds.parse(id))],
    );
    return found.rows.length >= 12 * 4 && found;
  });
  expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(48);
  for (const webhook of webhooks) await scene.receiver.has(webhook.path, 4);
  expect(await Promise.all(webhooks.map(async (webhook) => (await deliveriesOf(webhook, of)).length))).toEqual(
    webhooks.map(() => 4),
  );
});
