import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { type Answer, apiClient } from '../api-client.ts';
import { type FakeHubSpot, hubspotError, hubspotRateLimit } from '../fakes/hubspot.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { findIn } from '../integrations/consents.ts';
import type { Product, Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { type HubSpotScene, openHubSpotScene } from './hubspot-scene.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// Live keys, whose provider does it for each request. The process that takes the place of the one before is the next to die.
let scene: HubSpotScene;
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
let hubspot: FakeHubSpot;
const roles: RoleName[] = ['api', 'runs', 'integrations'];
const client = (at = process) => apiClient(at.api, tenant.liveKey);
let people = 0;
const create = (headers: Record<string, string> = {}, email = `ada-${++people}@example.com`, at = process) =>
  client(at).post('/api/v1/integrations/hubspot/actions/create_contact', { properties: { email } }, headers);
const asked = () => hubspot.journal.filter(({ endpoint }) => endpoint === 'api').length;

beforeAll(async () => {
  scene = await openHubSpotScene(roles);
  ({ hubspot, product, tenant, process } = scene);
});
afterAll(() => scene.close());

const names = { integrationId: 'hubspot', actionId: 'create_contact' };
const unknown = { code: 'action_failed', details: { ...names, outcome: 'unknown' } };
const wait = (seconds: number) => ({
  fail: { ...hubspotRateLimit('TEN_SECONDLY_ROLLING'), headers: { 'retry-after': String(seconds) } },
});
/** How long an attempt has here. A busy machine may take longer: what became of its request is unknown then. */
const attemptMs = 3_000;
const answerOfAction = ({ status, body }: Answer) => [status, body.error ?? body.data];

test('each fault of a provider has its published failure, and what it may have done is not asked for twice', async () => {
  const redirect = {
    fail: { status: 302, body: {}, headers: { location: `${hubspot.origin}/crm/objects/2026-03/contacts` } },
  };
  for (const [behaviour, times, status, error] of [
    [wait(1), 2, 200, {}],
    [wait(6), 1, 429, { code: 'rate_limited', details: { integrationId: 'hubspot' } }],
    ['lose the answer', 1, 502, unknown],
    ['page', 1, 502, unknown],
    ['endless', 1, 502, unknown],
    ['deep', 1, 502, unknown],
    // Each byte comes soon: what ends it is the time of an attempt.
    ['drip', 1, 502, unknown],
    [{ fail: hubspotError(500, 'INTERNAL') }, 1, 502, unknown],
    [redirect, 1, 502, { code: 'action_failed', details: { ...names, outcome: 'failed' } }],
    [{ fail: hubspotError(409, 'CONFLICT') }, 1, 502, { details: { providerCode: 'CONFLICT', outcome: 'failed' } }],
    [{ fail: hubspotError(400, 'VALIDATION_ERROR') }, 1, 400, { code: 'invalid_payload' }],
  ] as const) {
    const { answer, key, email, before } = await until('it is answered in time', async () => {
      const before = asked();
      hubspot.next(behaviour);
      const email = `fault-${++people}@example.com`;
      const key = { 'idempotency-key': email };
      const begun = performance.now();
      const answer = await create(key, email);
      const isLate = answer.status === 502 && error !== unknown && performance.now() - begun > attemptMs;
      if (isLate) hubspot.reset();
      return !isLate && { answer, key, email, before };
    });
    expect([behaviour, ...answerOfAction(answer)]).toMatchObject([behaviour, status, error]);
    expect([behaviour, asked() - before]).toEqual([behaviour, times]);
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('6');
    // What is unknown keeps its key; every other failure gives it free.
    if (error !== unknown) continue;
    const again = await create(key, email);
    expect([again.headers.get('idempotent-replayed'), ...answerOfAction(again)]).toMatchObject(['true', 502, unknown]);
    expect(asked() - before).toBe(times);
  }
});

test('a provider that limits every request is asked three times for each action', async () => {
  const { answers, before } = await until('all are answered in time', async () => {
    const before = asked();
    hubspot.always(wait(1));
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create()));
    hubspot.always(undefined);
    const isLate = answers.some(({ status }) => status === 502) && performance.now() - begun > attemptMs;
    return !isLate && { answers, before };
  });
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(
    Array(20).fill([429, '1']),
  );
  expect(asked() - before).toBe(60);
});

test('access that the provider withdrew is reported as such, and works again after a new connection', async () => {
  hubspot.always({ fail: hubspotError(401, 'EXPIRED_AUTHENTICATION') });
  const before = asked();
  expect(answerOfAction(await create())).toMatchObject([401, { code: 'auth_expired' }]);
  // The first request, and one with a new token.
  expect(asked() - before).toBe(2);
  expect(answerOfAction(await create())).toMatchObject([401, { code: 'auth_expired' }]);
  expect(asked() - before).toBe(2);
  hubspot.always(undefined);
  expect(await findIn(client(), 'hubspot')).toMatchObject({ connected: false, status: 'auth_expired' });
  await scene.connect(process.api);
  expect((await create()).status).toBe(200);
});

const unknownActions = async () => {
  const { rows } = await product.database.pool.query(
    `select count(*)::int as count from integration_action where status = 'unknown'`,
  );
  return rows[0].count;
};
const performed = () => hubspot.journal.filter(({ endpoint, worked }) => endpoint === 'api' && worked).length;

test.each([
  ['a token that is about to end', true],
  ['a token that the provider has refused', false],
])('killed while it refreshes %s: the action is not unknown, and is done once', async (what, isEarly) => {
  if (!isEarly) hubspot.grants.endAccessTokens();
  else await product.database.pool.query("update oauth_connection set refresh_at = now() - interval '1 minute'");
  const before = [performed(), await unknownActions()] as const;
  const [key, email] = [{ 'idempotency-key': what }, `${what.replaceAll(' ', '-')}@example.com`];
  await process.arm('connection.refreshed');
  await expect(create(key, email)).rejects.toThrow();
  process = await successorOf(process, product, roles);
  // While the lease of the refresh holds, an attempt may end as one that was not made, which does not use the key up.
  const answer = await until('the action has ended', async () => {
    const one = await create(key, email);
    return one.status === 200 && one;
  });
  expect(answer.body.data.properties).toMatchObject({ email });
  expect([performed(), await unknownActions()]).toEqual([before[0] + 1, before[1]]);
});

test('what changes nothing is done again after the death of its process', async () => {
  const inSandbox = () => apiClient(process.api, tenant.testKey);
  await connectInSandbox(inSandbox(), process.api, 'hubspot');
  const key = { 'idempotency-key': 'sandbox' };
  const act = () =>
    inSandbox().post('/api/v1/integrations/hubspot/actions/create_contact', { properties: { firstname: 'Ada' } }, key);
  await process.arm('action.answered');
  await expect(act()).rejects.toThrow();
  process = await successorOf(process, product, roles);
  const answer = await until('it is there', async () => {
    const one = await act();
    return one.status !== 409 && one;
  });
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
});

test('a worker of its own does what an API process takes, and one that dies is not repeated', async () => {
  const api = await product.start(['api']);
  try {
    expect((await create({}, undefined, api)).status).toBe(200);
    // Eager starts are the other process's: what this one takes is begun there.
    const [before, key, email] = [asked(), { 'idempotency-key': 'worker' }, 'worker@example.com'];
    await process.arm('action.answered');
    const sent = create(key, email, api);
    process = await successorOf(process, product, roles);
    expect(answerOfAction(await sent)).toMatchObject([502, unknown]);
    expect(asked() - before).toBe(1);
  } finally {
    await api.kill();
  }
});
