import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { Scope } from '../../src/platform/database/scope.ts';
import { watchStatements } from '../../src/platform/database/sql.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { disableHolds, enableHolds } from '../../src/platform/parts/holds.ts';
import { openServices, readEnv, type Services } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { secrets } from '../operator.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';

let product: StartedProduct;
let services: Services;
let scope: Scope;
/** How often each statement of this process was sent. */
const sent = new Map<string, number>();

beforeAll(async () => {
  // This process performs the actions itself.
  enableHolds();
  product = await sharedProduct();
  const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
  await connectInSandbox(apiClient(product.process.api, testKey), product.process.api, 'slack');
  const env = readEnv({ ...secrets, DATABASE_URL: product.databaseUrl, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  services = await openServices(env, openLog('silent', 'test'), { connection: Connection.lazy() });
  scope = new Scope(
    services.database,
    { organizationId: organizationIds.parse(organizationId)!, environment: 'test' },
    'late',
  );
  watchStatements((name, ask) => {
    sent.set(name, (sent.get(name) ?? 0) + 1);
    return ask();
  });
});
afterAll(async () => {
  disableHolds();
  await services.close();
  await product.close();
});

/** Attempts at one step, as its activities make them. Its action is under way until it is released. */
function stepOf() {
  const key = randomUUID();
  const hold = newHold(product.database);
  const payload = { channel: 'C0123456789', text: `${hold.word} ${key}` };
  const fields = { integration: 'slack', action: 'send_message', payload };
  const states = async () => {
    const { rows } = await product.database.pool.query(
      `select a.status from integration_action a join idempotency i on i.resource_id = a.id where i.key = $1`,
      [key],
    );
    return rows.map(({ status }) => status);
  };
  return {
    states,
    release: hold.release,
    attempt() {
      const stopped = new AbortController();
      const asked = { fields, key, mayWait: false, signal: stopped.signal };
      const result = services.stepKinds.get('action').perform(scope, asked);
      result.catch(() => {});
      return {
        result,
        stop: (reason: string) => stopped.abort(new CancelledFailure(reason)),
      };
    },
    isPerformed: async () => (await states()).includes('processing'),
  };
}

test.each(['NOT_FOUND', 'WORKER_SHUTDOWN'])(
  'an action goes on in the attempt that waits for it when the one before is stopped with %s',
  async (reason) => {
    const step = stepOf();
    const late = step.attempt();
    await until('it is performed', step.isPerformed);
    const looks = sent.get('action.look') ?? 0;
    const next = step.attempt();
    await until('the next attempt waits', async () => (sent.get('action.look') ?? 0) > looks);
    late.stop(reason);
    await expect(late.result).rejects.toThrow(reason);
    await step.release();
    expect(await next.result).toMatchObject({ output: { channel: 'C0123456789' } });
    expect(await step.states()).toEqual(['completed']);
  },
);

test('an action is cancelled with its step', async () => {
  const step = stepOf();
  const attempt = step.attempt();
  await until('it is performed', step.isPerformed);
  attempt.stop('CANCELLED');
  await expect(attempt.result).rejects.toThrow('CANCELLED');
  // Its key is free: nothing was done.
  expect(await step.states()).toEqual([]);
});
