import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { newEmail, type Person, personWith } from './people.ts';

let product: StartedProduct;
let admin: Person;

beforeAll(async () => {
  product = await sharedProduct();
  const within = { ...product, base: product.process.api, organizationId: product.tenant.organizationId };
  admin = await personWith(within, 'admin');
});
afterAll(() => product.close());

test('with an Idempotency-Key one invitation is made', async () => {
  const email = newEmail();
  const invite = (role: string) =>
    admin.api.post('/api/v1/invitations', { email, role }, { 'idempotency-key': 'one-invitation' });
  const [first, second] = [await invite('member'), await invite('member')];
  expect(first.status).toBe(201);
  expect([second.status, second.body.data]).toEqual([201, first.body.data]);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect((await invite('viewer')).body.error.code).toBe('idempotency_key_reused');
  const { body } = await admin.api.get('/api/v1/invitations');
  expect(body.data.invitations.filter((one: { email: string }) => one.email === email)).toEqual([first.body.data]);
});
