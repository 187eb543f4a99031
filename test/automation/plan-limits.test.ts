import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

/** An organization whose requests are not what limits it. */
async function organizationOn(plan: string) {
  const { id } = await createOrganization(product.database, {
    name: 'Planned',
    plan,
    rateMinute: 10_000,
    rateDay: 10_000,
  });
  const issue = async (environment: string) =>
    apiClient(product.process.api, (await createKey(product.database, { organizationId: id, environment })).key);
  const [api, live] = [await issue('test'), await issue('live')];
  return { api, live, change: (to: string) => updateOrganization(product.database, id, { plan: to }) };
}

const create = (api: ApiClient, headers = {}) => api.post('/api/v1/workflows', { name: 'One of many' }, headers);
const weekly = { cron: '@weekly', timezone: 'UTC' };
const put = (api: ApiClient, id: string) => api.request('PUT', `/api/v1/workflows/${id}/schedule`, weekly);
const refused = (limit: number) => ({
  status: 403,
  body: { error: { code: 'forbidden', details: { limit, plan: 'free' } } },
});

test('a plan includes so many workflows in each environment, however the requests arrive', async () => {
  const { api, live } = await organizationOn('free');
  const answers = await Promise.all(
    Array.from({ length: 56 }, (_, index) => create(api, { 'idempotency-key': `w${index}` })),
  );
  const made = answers.filter(({ status }) => status === 201);
  expect(made).toHaveLength(50);
  for (const answer of answers.filter((one) => !made.includes(one))) expect(answer).toMatchObject(refused(50));
  expect((await create(live)).status).toBe(201);

  // A repetition adds nothing, and a refusal does not use up its key.
  const again = { 'idempotency-key': `w${answers.indexOf(made[0]!)}` };
  expect(await create(api, again)).toMatchObject({ status: 201, body: { data: { id: made[0]!.body.data.id } } });
  const late = { 'idempotency-key': `w${answers.findIndex(({ status }) => status === 403)}` };
  await api.delete(`/api/v1/workflows/${made[0]!.body.data.id}`);
  expect((await create(api, late)).status).toBe(201);
  expect(await create(api)).toMatchObject(refused(50));
});

test('after a downgrade what exists stays and can be changed, and nothing is added', async () => {
  const { api, change } = await organizationOn('pro');
  const ids = await Promise.all(Array.from({ length: 7 }, async () => (await makeWorkflow(api)).id));
  const [last, ...scheduled] = ids as [string, ...string[]];
  for (const id of scheduled) expect((await put(api, id)).status).toBe(200);
  await change('free');
  expect(await put(api, last)).toMatchObject(refused(5));
  for (const id of scheduled) expect((await put(api, id)).status).toBe(200);
  await api.delete(`/api/v1/workflows/${scheduled[0]}/schedule`);
  expect(await put(api, last)).toMatchObject(refused(5));
  await api.delete(`/api/v1/workflows/${scheduled[1]}`);
  expect((await put(api, last)).status).toBe(200);
});
