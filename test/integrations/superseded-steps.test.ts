import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { Scope } from '../../src/platform/database/scope.ts';
import { watchStatements } from '../../src/platform/database/sql.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv, type Services } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
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
  await services.close();
  await product.close();
});

/** Attempts at one step, as its activities make them. */
function stepOf() {
  const key = randomUUID();
  const payload = { channel: 'C0123456789', text: `sandbox:slow=1 ${key}` };
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
    attempt() {
      const stopped = new AbortController();
      const asked = { fields, key, mayWait: false, signal: stopped.signal };
      const result = services.stepKinds.get('action').perform(scope, asked);
      result.catch(() => {});
      return {
        result,
        /** @returns the failure of the attempt; undefined where it was over before */
        stop(reason: string): Promise<Error | undefined> {
          stopped.abort(new CancelledFailure(reason));
          return result.then(
            () => undefined,
            (failure: Error) => failure,
          );
        },
      };
    },
    /** Also true where its action is over already. */
    isPerformed: async () => (await states()).some((status) => ['processing', 'completed'].includes(status)),
  };
}

// An action takes a second. On a busy machine it may be over before its attempt is stopped: then another one is begun.

test.each(['NOT_FOUND', 'WORKER_SHUTDOWN'])(
  'an action goes on in the attempt that waits for it when the one before is stopped with %s',
  async (reason) => {
    const { step, next, failure } = await until('an attempt is stopped while another one waits', async () => {
      const one = stepOf();
      const late = one.attempt();
      await until('it is performed', one.isPerformed);
      const looks = sent.get('action.look') ?? 0;
      const second = one.attempt();
      await until('the next attempt waits, or need not', async () => {
        return (sent.get('action.look') ?? 0) > looks || (await one.states()).includes('completed');
      });
      const stopped = await late.stop(reason);
      return stopped && { step: one, next: second, failure: stopped };
    });
    expect(failure.message).toContain(reason);
    expect(await next.result).toMatchObject({ output: { channel: 'C0123456789' } });
    expect(await step.states()).toEqual(['completed']);
  },
);

test('an action is cancelled with its step', async () => {
  const { step, failure } = await until('an attempt is stopped in time', async () => {
    const one = stepOf();
    const attempt = one.attempt();
    await until('it is performed', one.isPerformed);
    const stopped = await attempt.stop('CANCELLED');
    return stopped && !(await one.states()).includes('completed') && { step: one, failure: stopped };
  });
  expect(failure.message).toContain('CANCELLED');
  // Its key is free: nothing was done.
  expect(await step.states()).toEqual([]);
});
