import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type SharedWebhookScene, sharedWebhookScene } from '../webhooks/scene.ts';

let scene: SharedWebhookScene;
let api: ApiClient;
beforeAll(async () => {
  scene = await sharedWebhookScene();
  ({ api } = scene);
});
afterAll(() => scene.close());

const of = (integration: string) => `/api/v1/integrations/${integration}/webhooks`;
const url = 'https://hooks.example.com/slack';

/** The webhooks of a fresh tenant. */
async function fresh(plan = 'enterprise') {
  const { testKey, liveKey } = await scene.product.createTenant({ plan });
  return { client: apiClient(scene.process.api, testKey), live: apiClient(scene.process.api, liveKey) };
}

describe('a webhook of an integration', () => {
  test('is created, listed below its integration alone, and deleted', async () => {
    const { client, live } = await fresh();
    const created = await client.post(of('slack'), { event: 'mention', url });
    expect(created.status).toBe(201);
    const { id, secret, ...shown } = created.body.data;
    expect(id).toMatch(/^whk_/);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({ event: 'mention', url, active: true, createdAt: expect.any(String) });
    const second = await client.post('/v1/integrations/slack/webhooks', { event: 'slack.reaction_added', url });
    expect(second.body.data.event).toBe('reaction_added');
    const listed = await client.get(of('slack'));
    expect(listed.body.data).toEqual({
      webhooks: [
        { ...second.body.data, secret: undefined },
        { id, ...shown },
      ].map((one) => JSON.parse(JSON.stringify(one))),
    });
    expect((await client.get(of('hubspot'))).body.data).toEqual({ webhooks: [] });
    expect((await live.get(of('slack'))).body.data).toEqual({ webhooks: [] });
    expect((await client.get('/v1/webhooks')).body.data).toMatchObject({ webhooks: [], pagination: { total: 0 } });

    const { client: stranger } = await fresh();
    for (const [other, path] of [
      [client, `${of('hubspot')}/${id}`],
      [stranger, `${of('slack')}/${id}`],
      [live, `${of('slack')}/${id}`],
      [client, `${of('slack')}/whk_0199ccccdddd7eee8fff000011112222`],
      [client, `${of('slack')}/nothing`],
    ] as const) {
      expect(await other.delete(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
    expect(await client.delete(`${of('slack')}/${id}`)).toMatchObject({
      status: 200,
      body: { data: { deleted: true } },
    });
    expect((await client.get(of('slack'))).body.data.webhooks).toHaveLength(1);
    expect((await client.delete(`${of('slack')}/${id}`)).status).toBe(404);
    const ordinary = await client.post('/v1/webhooks', { name: 'Ours', url, events: ['*'] });
    expect((await client.delete(`${of('slack')}/${ordinary.body.data.id}`)).status).toBe(404);
  });

  test('is refused with what is wrong', async () => {
    const { client } = await fresh();
    const wrong: [object, string][] = [
      [{ url }, 'event'],
      [{ event: 'contact_created', url }, 'event'],
      [{ event: 'hubspot.contact_created', url }, 'event'],
      [{ event: '*', url }, 'event'],
      [{ event: '__proto__', url }, 'event'],
      [{ event: 'mention' }, 'url'],
      [{ event: 'mention', url: 'ftp://hooks.example.com' }, 'url'],
      [{ event: 'mention', url: 'https://user:pw@hooks.example.com' }, 'url'],
      [{ event: 'mention', url, secret: 'too short' }, 'secret'],
      [{ event: 'mention', url, secret: 'x'.repeat(256) }, 'secret'],
      [{ event: 'mention', url, secret: 'a line break\n in the middle' }, 'secret'],
    ];
    for (const [body, path] of wrong) {
      expect(await client.post(of('slack'), body)).toMatchObject({
        status: 400,
        body: { error: { code: 'validation_error', details: { errors: [{ path }] } } },
      });
    }
    const unknown = {
      status: 404,
      body: { error: { code: 'integration_not_found', details: { integrationId: 'x' } } },
    };
    expect(await client.post(of('x'), { event: 'mention', url })).toMatchObject(unknown);
    expect(await client.get(of('x'))).toMatchObject(unknown);
    const inB = await client.get(of('x'), { 'x-api-variant': 'B' });
    expect(inB).toMatchObject({ status: 404, body: { error: { code: 'INTEGRATION_NOT_FOUND' } } });
  });

  test('is created once per Idempotency-Key, and its own secret is taken', async () => {
    const { client } = await fresh();
    const [key, secret] = [{ 'idempotency-key': 'once' }, 'a secret of 24 characters'];
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => client.post(of('slack'), { event: 'mention', url, secret }, key)),
    );
    for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: answers[0]!.body });
    expect(answers[0]!.body.data.secret).toBe(secret);
    expect((await client.get(of('slack'))).body.data.webhooks).toHaveLength(1);
    expect((await client.post(of('slack'), { event: 'reaction_added', url }, key)).status).toBe(422);
  });

  test('counts among the webhooks there can be, and five may send one event to one URL', async () => {
    const { client } = await fresh('pro');
    for (let count = 0; count < 4; count++) {
      expect((await client.post(of('slack'), { event: 'mention', url })).status).toBe(201);
    }
    const all = { name: 'Ours', url, events: ['slack.mention'] };
    expect((await client.post('/v1/webhooks', all)).status).toBe(201);
    for (const refused of [client.post(of('slack'), { event: 'mention', url }), client.post('/v1/webhooks', all)]) {
      expect(await refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path: 'url' }] } } } });
    }
    const made: { status: number }[] = [];
    for (let batch = 0; batch < 20; batch++) {
      const posts = Array.from({ length: 5 }, (_, n) =>
        client.post(of('slack'), { event: 'mention', url: `${url}/${batch}/${n}` }),
      );
      made.push(...(await Promise.all(posts)));
    }
    expect(made.filter(({ status }) => status === 201)).toHaveLength(95);
    expect(made.filter(({ status }) => status === 403)).toHaveLength(5);
  });

  test('is changed, tested and rotated as every webhook', async () => {
    const secret = 'whsec_but no base64 follows it';
    const { data } = (await api.post(of('slack'), { event: 'mention', url: scene.receiver.url('/elsewhere'), secret }))
      .body;
    const path = `/v1/webhooks/${data.id}`;
    expect(await api.patch(path, { events: ['*'] })).toMatchObject({
      status: 400,
      body: { error: { details: { errors: [{ path: 'events' }] } } },
    });
    const moved = await api.patch(path, { url: scene.receiver.url('/moved'), isActive: true });
    expect(moved).toMatchObject({ status: 200, body: { data: { events: ['slack.mention'] } } });
    expect((await api.post(`${path}/test`)).status).toBe(202);
    const [first] = await scene.receiver.has('/moved', 1);
    const { signature, ...payload } = JSON.parse(first!.body);
    expect(payload).toMatchObject({ type: 'test.webhook', integration: 'slack', data: { webhookId: data.id } });
    const hmac = (text: string, encoding: 'hex' | 'base64') =>
      createHmac('sha256', secret).update(text).digest(encoding);
    expect(signature).toBe(`sha256=${hmac(JSON.stringify(payload), 'hex')}`);
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': standard } = first!.headers;
    expect(standard).toBe(`v1,${hmac(`${id}.${time}.${first!.body}`, 'base64')}`);
    expect((await api.post(`${path}/rotate-secret`)).body.data.secret).toMatch(/^whsec_/);
    await api.patch(path, { isActive: false });
    const { webhooks } = (await api.get(of('slack'))).body.data;
    expect(webhooks).toMatchObject([{ id: data.id, active: false, url: scene.receiver.url('/moved') }]);
  });
});
