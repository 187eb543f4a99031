import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { createAction } from '../../src/integrations/actions/create-action.ts';
import { performNext } from '../../src/integrations/actions/perform-action.ts';
import { requestAction } from '../../src/integrations/actions/request-action.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv, type Services } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';

let product: StartedProduct;
let services: Services;
let scope: Scope;

beforeAll(async () => {
  product = await sharedProduct();
  const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
  await connectInSandbox(apiClient(product.process.api, testKey), product.process.api, 'slack');
  const env = readEnv({ ...secrets, DATABASE_URL: product.databaseUrl, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  services = await openServices(env, openLog('silent', 'test'), { connection: Connection.lazy() });
  const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' as const };
  scope = new Scope(services.database, tenant, 'paused');
});
afterAll(async () => {
  await services.close();
  await product.close();
});

const pauseMs = 1_800_000;

/** An action of Slack, as processes attempt it: each call of `perform` is one that does not know of the others. */
async function actionOf(word: string) {
  const actionPolicy = {
    ...services.actionPolicy,
    firstPauseMs: pauseMs,
    pausesMs: 10 * pauseMs,
    deadlineMs: 20 * pauseMs,
  };
  const patient = { ...services, actionPolicy };
  const { account } = (await services.integrations.findConnection(scope, 'slack'))!;
  const { id } = await createAction(patient, scope, {
    requested: requestAction('slack', 'send_message', { channel: 'C0123456789', text: word }),
    accountId: account.id,
    plan: 'pro',
    idempotency: undefined,
    waiter: '',
    firstBy: 'workflow',
  });
  const { pool } = product.database;
  return {
    perform: () => performNext(patient, scope, { id, waiter: null }, new AbortController().signal),
    async attempts(): Promise<number> {
      const { rows } = await pool.query('select attempts from integration_action where id = $1', [id]);
      return rows[0].attempts;
    },
    endPause: () => pool.query('update integration_action set begun_until = clock_timestamp() where id = $1', [id]),
  };
}

test.each([
  ['whose provider asked to wait', `sandbox:rate_limited=${pauseMs / 1_000}`],
  ['whose provider was not reached', 'sandbox:overloaded'],
])('an action %s is not attempted sooner by another process', async (_, word) => {
  const action = await actionOf(word);
  expect(await action.perform()).toEqual({ kind: 'pause', ms: pauseMs });
  const remaining = await action.perform();
  expect(remaining).toEqual({ kind: 'pause', ms: expect.any(Number) });
  expect((remaining as { ms: number }).ms).toBeLessThanOrEqual(pauseMs);
  expect(await action.attempts()).toBe(1);

  await action.endPause();
  expect(await action.perform()).toMatchObject({ kind: 'pause' });
  expect(await action.attempts()).toBe(2);
});
