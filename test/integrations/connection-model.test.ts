import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type FakeHubSpot, startFakeHubSpot } from '../fakes/hubspot.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { visit } from './connect-in-sandbox.ts';
import { base, begin, findIn } from './consents.ts';

let product: StartedProduct;
let hubspot: FakeHubSpot;
let api: string;

beforeAll(async () => {
  hubspot = await startFakeHubSpot();
  product = await sharedProduct();
  ({ api } = await product.serve({
    HUBSPOT_CLIENT_ID: hubspot.clientId,
    HUBSPOT_CLIENT_SECRET: hubspot.clientSecret,
    HUBSPOT_LOGIN_BASE_URL: hubspot.origin,
    HUBSPOT_BASE_URL: hubspot.origin,
  }));
});
afterAll(async () => {
  await product.close();
  await hubspot.close();
});

/** The same sequence on every run, so that one that fails can be run again. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Status = 'not_connected' | 'connected' | 'auth_expired';

/** What a tenant has to see, whatever the other one does. `owner`: whose access at the provider it uses. */
interface Tenant {
  client: ApiClient;
  owner: string;
  status: Status;
  /** Whether the provider has ended access, and no process here knows yet. */
  isRevoked: boolean;
}

const connected = async (tenant: Tenant) => {
  const { authUrl } = await begin(tenant.client, 'hubspot');
  expect((await visit(await hubspot.consent(authUrl, { account: tenant.owner }), api)).status).toBe(200);
  Object.assign(tenant, { status: 'connected', isRevoked: false });
};

const steps: ((tenant: Tenant, other: Tenant) => Promise<void>)[] = [
  connected,
  async (tenant) => {
    const denied = await hubspot.consent((await begin(tenant.client, 'hubspot')).authUrl, { deny: true });
    expect((await visit(denied, api)).status).toBe(400);
  },
  async (tenant, other) => {
    // The other one's browser brings the code of this one's account.
    const callback = await hubspot.consent((await begin(tenant.client, 'hubspot')).authUrl, { account: tenant.owner });
    const { state } = await begin(other.client, 'hubspot');
    callback.searchParams.set('state', state);
    expect((await visit(callback, api)).status).toBe(400);
  },
  async (tenant) => {
    const { status } = await tenant.client.delete(`${base}/hubspot/connection`);
    expect(status).toBe(tenant.status === 'not_connected' ? 409 : 200);
    Object.assign(tenant, { status: 'not_connected', isRevoked: false });
  },
  async (tenant) => {
    hubspot.grants.revokeAccount(tenant.owner);
    tenant.isRevoked = tenant.status === 'connected';
  },
  async (tenant) => {
    const { status, body } = await tenant.client.post(`${base}/hubspot/test`);
    if (tenant.status === 'connected' && tenant.isRevoked) tenant.status = 'auth_expired';
    const code = { not_connected: 'not_connected', auth_expired: 'auth_expired', connected: undefined }[tenant.status];
    const expected = { not_connected: 409, auth_expired: 401, connected: 200 }[tenant.status];
    expect([status, body.error?.code]).toEqual([expected, code]);
  },
];

test.each([1, 2, 3])('two tenants see what they did, and nothing of each other: %i', async (seed) => {
  const next = randomNumbers(seed);
  const open = async (name: string): Promise<Tenant> => {
    const { liveKey } = await product.createTenant();
    const owner = `${name}-${seed}@example.com`;
    return { client: apiClient(api, liveKey), owner, status: 'not_connected', isRevoked: false };
  };
  const tenants = [await open('ada'), await open('bob')] as const;
  for (let step = 0; step < 40; step++) {
    const at = next(2);
    await steps[next(steps.length)]!(tenants[at]!, tenants[1 - at]!);
    for (const { client, status } of tenants) {
      expect(await findIn(client, 'hubspot')).toMatchObject({ status, connected: status === 'connected' });
    }
  }
});
