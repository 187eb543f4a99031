import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

type Outcome = { status: number } | { broken: string; afterFirstByte: boolean };

/** One request on a connection of the agent, by its kind of end. */
function create(base: string, agent: Agent, key: string, name: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let afterFirstByte = false;
    const fail = (error: NodeJS.ErrnoException) => resolve({ broken: error.code ?? error.message, afterFirstByte });
    const sent = request(new URL('/api/v1/workflows', base), {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    sent.on('error', fail);
    sent.on('response', (response) => {
      afterFirstByte = true;
      response.on('error', fail);
      response.on('end', () => resolve({ status: response.statusCode! })).resume();
    });
    sent.end(JSON.stringify({ name }));
  });
}

/** What the requests came to of clients that ask on and on, before and after their process got the signal to stop. */
async function stopUnderLoad(tenant: Tenant) {
  const { api, stop } = await product.start(['api'], { DRAIN_NOTICE_SECONDS: '0.3' });
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const outcomes: Outcome[] = [];
  const isRefused = (outcome: Outcome | undefined) =>
    outcome !== undefined && 'broken' in outcome && outcome.broken === 'ECONNREFUSED';
  const client = async (number: number) => {
    for (let round = 0; !isRefused(outcomes.at(-1)); round++) {
      outcomes.push(await create(api, agent, tenant.testKey, `${number}.${round}`));
    }
  };
  const clients = Array.from({ length: 20 }, (_, number) => client(number));
  await until('the load is there', async () => outcomes.length > 100);
  const beforeStop = outcomes.length;
  expect(await stop()).toBe(0);
  await Promise.all(clients);
  agent.destroy();
  return { outcomes, beforeStop };
}

test('a process that gets the signal to stop under load answers every accepted request, and ends well', async () => {
  // On a busy machine a request may wait too long for a connection to the database: then it is begun again.
  const { tenant, outcomes, beforeStop } = await until('a process is stopped under load', async () => {
    const tenant = await product.createTenant({ plan: 'enterprise' });
    const { outcomes, beforeStop } = await stopUnderLoad(tenant);
    const isShort = outcomes.some((one) => 'status' in one && one.status === 503);
    return !isShort && { tenant, outcomes, beforeStop };
  });
  expect(outcomes.slice(0, beforeStop).filter((one) => 'broken' in one)).toEqual([]);
  const answered = outcomes.filter((one) => 'status' in one);
  expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([201]));
  expect(answered.length).toBeGreaterThan(beforeStop);
  const broken = outcomes.filter((one) => 'broken' in one);
  expect(broken.filter(({ afterFirstByte }) => afterFirstByte)).toEqual([]);
  // A refused connection had no effect: a client without an answer can safely ask another process.
  const { rows } = await product.database.pool.query(
    'select count(*)::int as count from automation where organization_id = $1',
    [organizationIds.parse(tenant.organizationId)],
  );
  expect(rows[0].count).toBe(answered.length);
});
