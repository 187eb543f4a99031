import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { tablesWith } from './rows.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const url = `https://hooks.example.com/${randomUUID()}`;
const given = { name: 'Orders', url, events: ['workflow.run.failed'] };
const secretPattern = /^whsec_[A-Za-z0-9+/]{43}=$/;
const pathOf = (id: string) => `/api/v1/webhooks/${id}`;

describe('the secret', () => {
  const token = 'a-token-of-the-receiver-0123456789';
  const keyed = (key: string) => ({ 'idempotency-key': key });

  test('is returned once, and is stored nowhere in clear; nor are the headers', async () => {
    const body = { ...given, headers: { Authorization: `Bearer ${token}` } };
    const created = await api.post('/v1/webhooks', body, keyed('told once'));
    const { id, secret } = created.body.data;
    const rotated = await api.post(`${pathOf(id)}/rotate-secret`, undefined, keyed('rotated once'));
    expect(rotated).toMatchObject({ status: 200, body: { data: { id } } });
    expect(Object.keys(rotated.body.data)).toEqual(['id', 'secret', 'previousSecretExpiresAt']);
    const hours = (Date.parse(rotated.body.data.previousSecretExpiresAt) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
    expect(rotated.body.data.secret).toMatch(secretPattern);
    expect(rotated.body.data.secret).not.toBe(secret);

    const seen = await Promise.all(['/v1/webhooks', pathOf(id)].map((path) => api.get(path)));
    expect(JSON.stringify(seen.map((one) => one.body))).not.toContain('whsec_');
    for (const text of [secret, rotated.body.data.secret]) {
      for (const part of [text, text.slice('whsec_'.length)]) {
        expect(await tablesWith(product.database, part)).toEqual([]);
        expect(JSON.stringify(product.process.log)).not.toContain(part);
      }
    }
    expect(await tablesWith(product.database, token)).toEqual([]);
    expect(JSON.stringify(product.process.log)).not.toContain(token);
    // The search finds what is there.
    expect(await tablesWith(product.database, url)).toEqual(['webhook_subscription']);
  });

  test('is returned again to the repetition of its request, and to no other', async () => {
    const { testKey } = await product.createTenant({ plan: 'enterprise' });
    const client = apiClient(product.process.api, testKey);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => client.post('/v1/webhooks', given, keyed('created'))),
    );
    const [first] = answers;
    expect(first!.status).toBe(201);
    for (const answer of answers) expect(answer.body).toEqual(first!.body);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(5);
    expect((await client.get('/v1/webhooks')).body.data.pagination.total).toBe(1);
    expect(await client.post('/api/v1/webhooks', { ...given, name: 'Other' }, keyed('created'))).toMatchObject({
      status: 422,
    });

    const { id } = first!.body.data;
    const uuid = id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const rotations = [
      await client.post(`/v1/webhooks/${id}/rotate-secret`, undefined, keyed('rotated')),
      await client.post(`/api/v1/webhooks/${uuid}/rotate-secret`, undefined, keyed('rotated')),
    ];
    expect(rotations[1]!.body).toEqual(rotations[0]!.body);
    expect(rotations.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await client.post('/v1/webhooks', given, keyed('created'))).toMatchObject({ body: first!.body });
  });
});
