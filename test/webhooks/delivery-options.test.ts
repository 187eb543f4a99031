import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhooks } from '../../sdk/typescript/src/index.ts';
import { apiClient } from '../api-client.ts';
import { publicKeyExample } from '../local-stack/documents.ts';
import type { Received } from './receiver.ts';
import { tablesWith } from './rows.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
type Body = any;

const pathOf = (id: string) => `/v1/webhooks/${id}`;

/** Creates a webhook. @returns the answer, and where it sends */
async function create(fields: object): Promise<{ webhook: Body; path: string }> {
  const path = `/options-${crypto.randomUUID()}`;
  const body = { name: 'Ours', url: scene.receiver.url(path), events: ['workflow.run.completed'], ...fields };
  const answer = await scene.api.post('/v1/webhooks', body);
  expect(answer.status).toBe(201);
  return { webhook: answer.body.data, path };
}

/** Sends a test event. @returns the request that arrives */
async function sent({ webhook, path }: { webhook: Body; path: string }): Promise<Received> {
  const before = scene.receiver.to(path).length;
  expect((await scene.api.post(`${pathOf(webhook.id)}/test`)).status).toBe(202);
  return (await scene.receiver.has(path, before + 1))[before]!;
}

const verify = ({ body, headers }: Received, key: string | string[]) => Webhooks.verify(body, headers, key);
const publicKeyPattern = /^whpk_[A-Za-z0-9+/]{43}=$/;

describe('a webhook without options', () => {
  test('has whole bodies, signed with a secret', async () => {
    const { webhook } = await create({});
    expect(webhook).toMatchObject({ payload: 'full', signature: 'hmac', publicKey: null });
    expect(webhook.secret).toMatch(/^whsec_/);
    const { data } = (await scene.api.get(pathOf(webhook.id))).body;
    expect(data).toMatchObject({ payload: 'full', signature: 'hmac', publicKey: null });
    expect(data).not.toHaveProperty('secret');
  });
});

describe('thin payloads', () => {
  test('name the event and what it is about, in the request and in the log', async () => {
    const { webhook, path } = await create({ payload: 'thin' });
    const runId = await scene.run();
    const [{ body }] = (await scene.receiver.has(path, 1)) as [Received];
    const event = JSON.parse(body);
    expect(Object.keys(event)).toEqual(['id', 'type', 'createdAt', 'data']);
    expect(event).toMatchObject({ type: 'workflow.run.completed', data: { id: runId } });
    expect(event.data).toEqual({ id: runId });
    const delivery = await scene.reaches(webhook.id, 'delivered');
    const { data } = (await scene.api.get(`${pathOf(webhook.id)}/deliveries/${delivery.id}`)).body;
    expect(data.requestBody).toBe(body);
  });

  test('have the id of the event where its data has none, and no second name', async () => {
    const of = await create({ payload: 'thin' });
    const event = JSON.parse((await sent(of)).body);
    expect(event.data).toEqual({ id: event.id });
    await scene.api.post(`${pathOf(of.webhook.id)}/send-example`, { type: 'booking.created' });
    const example = JSON.parse((await scene.receiver.has(of.path, 2))[1]!.body);
    expect(Object.keys(example)).toEqual(['id', 'type', 'createdAt', 'data']);
    expect(example.data).toEqual({ id: expect.stringMatching(/^bkg_/) });
  });

  test('can be chosen later, and given up', async () => {
    const of = await create({});
    const change = (payload: string) => scene.api.patch(pathOf(of.webhook.id), { payload });
    expect((await change('thin')).body.data).toMatchObject({ payload: 'thin' });
    expect(JSON.parse((await sent(of)).body).data).not.toHaveProperty('message');
    expect((await change('full')).body.data).toMatchObject({ payload: 'full' });
    expect(JSON.parse((await sent(of)).body).data).toHaveProperty('message');
    expect((await change('slim')).status).toBe(400);
  });
});

describe('signatures with a private key', () => {
  test('verify with the public key that every answer has; nothing has a secret', async () => {
    const of = await create({ signature: 'ed25519' });
    const { id, publicKey } = of.webhook;
    expect(of.webhook).not.toHaveProperty('secret');
    expect(publicKey).toMatch(publicKeyPattern);
    const request = await sent(of);
    expect(await verify(request, publicKey)).toMatchObject({ type: 'test.webhook' });
    const names = Object.keys(request.headers).filter((name) => name.includes('signature'));
    expect(names).toEqual(['webhook-signature']);
    expect(request.headers['webhook-signature']).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    for (const answer of [await scene.api.get(pathOf(id)), await scene.api.patch(pathOf(id), { name: 'Renamed' })]) {
      expect(answer.body.data).toMatchObject({ signature: 'ed25519', publicKey });
      expect(answer.body.data).not.toHaveProperty('secret');
    }
    const { webhooks } = (await scene.api.get('/v1/webhooks?limit=100')).body.data;
    expect(webhooks.find((one: Body) => one.id === id)).toMatchObject({ publicKey });
    expect(await tablesWith(scene.product.database, 'whsk_')).toEqual([]);
  });

  test('verify with the example of the guide', async () => {
    const of = await create({ signature: 'ed25519' });
    const { headers, body } = await sent(of);
    const file = join(mkdtempSync(join(tmpdir(), 'receiver-')), 'is-genuine.mjs');
    writeFileSync(file, publicKeyExample);
    const { isGenuine } = await import(file);
    expect(isGenuine(headers, body, of.webhook.publicKey)).toBe(true);
    expect(isGenuine(headers, `${body} `, of.webhook.publicKey)).toBe(false);
    expect(isGenuine(headers, body, (await create({ signature: 'ed25519' })).webhook.publicKey)).toBe(false);
  });

  test('come from both keys after a rotation', async () => {
    const of = await create({ signature: 'ed25519' });
    const { id, publicKey: before } = of.webhook;
    const key = { 'idempotency-key': `rotate ${id}` };
    const rotated = await scene.api.post(`${pathOf(id)}/rotate-secret`, undefined, key);
    expect(Object.keys(rotated.body.data)).toEqual(['id', 'publicKey', 'previousSecretExpiresAt']);
    const { publicKey: after } = rotated.body.data;
    expect(after).toMatch(publicKeyPattern);
    expect(after).not.toBe(before);
    expect((await scene.api.post(`${pathOf(id)}/rotate-secret`, undefined, key)).body).toEqual(rotated.body);
    expect((await scene.api.get(pathOf(id))).body.data.publicKey).toBe(after);
    const request = await sent(of);
    expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const publicKey of [before, after]) await verify(request, publicKey);
  });

  test('begin and end at once when the webhook is changed', async () => {
    const of = await create({});
    const { id, secret } = of.webhook;
    await scene.api.post(`${pathOf(id)}/rotate-secret`);
    const changed = await scene.api.patch(pathOf(id), { signature: 'ed25519' });
    expect(changed).toMatchObject({ status: 200, body: { data: { signature: 'ed25519' } } });
    expect(changed.body.data).not.toHaveProperty('secret');
    const { publicKey } = changed.body.data;
    const signed = await sent(of);
    expect(String(signed.headers['webhook-signature']).split(' ')).toHaveLength(1);
    await verify(signed, publicKey);
    await expect(verify(signed, secret)).rejects.toMatchObject({ code: 'invalid_signature' });

    const same = await scene.api.patch(pathOf(id), { signature: 'ed25519' });
    expect(same.body.data.publicKey).toBe(publicKey);
    const back = await scene.api.patch(pathOf(id), { signature: 'hmac' });
    expect(back.body.data).toMatchObject({ signature: 'hmac', publicKey: null });
    const { secret: next } = back.body.data;
    expect(next).toMatch(/^whsec_/);
    expect(next).not.toBe(secret);
    const again = await sent(of);
    await verify(again, next);
    await expect(verify(again, [publicKey, secret])).rejects.toMatchObject({ code: 'invalid_signature' });
    expect((await scene.api.get(pathOf(id))).body.data).not.toHaveProperty('secret');
  });

  test('of a kind that is not known are refused', async () => {
    const body = { name: 'Ours', url: scene.receiver.url('/none'), events: ['*'], signature: 'rsa' };
    const refused = await scene.api.post('/v1/webhooks', body);
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path: 'signature' }] } } } });
  });
});

test('a webhook of an integration keeps its own form and signature', async () => {
  const { testKey } = await scene.product.createTenant({ plan: 'enterprise' });
  const api = apiClient(scene.process.api, testKey);
  const url = scene.receiver.url('/integration');
  const created = await api.post('/v1/integrations/slack/webhooks', { event: 'message_received', url });
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  for (const [path, value] of Object.entries({ payload: 'thin', signature: 'ed25519' })) {
    const refused = await api.patch(pathOf(id), { [path]: value });
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path }] } } } });
  }
  expect((await api.patch(pathOf(id), { payload: 'full', signature: 'hmac' })).status).toBe(200);
});
