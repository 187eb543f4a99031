import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { actionJob } from '../../src/integrations/actions/job.ts';
import { actionRunIds } from '../../src/integrations/core/ids.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { actionContract } from '../../src/temporal/contracts/integrations.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type Product, sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';

let product: Product;
let api: ApiClient;
let base: string;
let connection: Connection;
let temporal: Client;
async function newTenant(plan: 'free' | 'enterprise') {
  const { organizationId, testKey } = await product.createTenant({ plan });
  const client = apiClient(base, testKey);
  await connectInSandbox(client, base, 'linkedin');
  return { client, organization: organizationIds.parse(organizationId)! };
}
const newClient = async () => (await newTenant('enterprise')).client;
beforeAll(async () => {
  const shared = await sharedProduct();
  product = shared;
  base = shared.process.api;
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
  api = await newClient();
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

describe('an action that is to be done later', () => {
  const invitation = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace' };
  const invite = (delay: number, more = {}, headers?: Record<string, string>, client = api) =>
    client.post('/api/v1/integrations/linkedin/actions/send_connection', { ...invitation, ...more, delay }, headers);
  const rowOf = async (actionRunId: string) => {
    const id = actionRunId.slice('act_'.length);
    const { rows } = await product.database.pool.query('select status, failure from integration_action where id = $1', [
      id,
    ]);
    return rows[0];
  };
  const isOver = (actionRunId: string) =>
    until('it is over', async () => {
      const row = await rowOf(actionRunId);
      return !['scheduled', 'processing'].includes(row.status) && row;
    });

  /**
   * Asks for an action of a tenant whose account is disconnected before it is due, and waits for its end. On a busy machine it
   * may be due before: then another one is asked for.
   */
  const disconnectedMeanwhile = () =>
    until('an account is disconnected before its action is due', async () => {
      const client = await newClient();
      const { actionRunId } = (await invite(5, {}, {}, client)).body.data;
      await client.delete('/api/v1/integrations/linkedin/connection');
      const end = await isOver(actionRunId);
      return end.status !== 'completed' && { client, actionRunId, end };
    });

  test('is accepted at once, done when it is due, and its end is in the audit log', async () => {
    const before = Date.now();
    const { status, body, headers } = await invite(2, {}, { 'idempotency-key': 'later' });
    const after = Date.now();
    expect([status, body.data.status]).toEqual([202, 'scheduled']);
    const { actionRunId, runAt } = body.data;
    expect(Date.parse(runAt) - before).toBeGreaterThanOrEqual(1_999);
    expect(Date.parse(runAt) - after).toBeLessThanOrEqual(2_001);
    expect(headers.get('idempotent-replayed')).toBeNull();
    expect((await invite(2, {}, { 'idempotency-key': 'later' })).body).toEqual(body);
    expect(await isOver(actionRunId)).toMatchObject({ status: 'completed' });
    const { rows } = await product.database.pool.query('select action, facts from audit_log where subject_id = $1', [
      actionRunId.slice(4),
    ]);
    const facts = { integration: 'linkedin', action: 'send_connection', status: 'completed' };
    expect(rows).toEqual([{ action: 'integration.delayed_action', facts }]);
  });

  test('is not done where it was disconnected meanwhile', async () => {
    const { end } = await disconnectedMeanwhile();
    expect(end).toEqual({ status: 'failed', failure: { code: 'not_connected' } });
  });

  test('can be cancelled in Temporal', async () => {
    const handleOf = ({ body }: Awaited<ReturnType<typeof invite>>) =>
      temporal.workflow.getHandle(jobWorkflowId(actionContract, actionRunIds.parse(body.data.actionRunId)!));
    const started = (handle: ReturnType<typeof handleOf>) =>
      until('it is started', () => handle.describe().catch(() => undefined));
    // What was asked for with a higher priority goes first where they wait.
    for (const [priority, key] of [
      ['low', 4],
      ['normal', 3],
      ['high', 2],
    ] as const) {
      const handle = handleOf(await invite(3_600, { priority }));
      const { raw } = await started(handle);
      expect([priority, raw.workflowExecutionInfo?.priority?.priorityKey]).toEqual([priority, key]);
      await handle.terminate();
    }
    const made = await invite(3_600);
    const { body } = made;
    const handle = handleOf(made);
    await started(handle);
    await handle.cancel();
    expect(await isOver(body.data.actionRunId)).toMatchObject({ status: 'cancelled' });
  });

  test('that is cancelled while its workflow is started has none afterwards', async () => {
    const actionRunId: string = (await invite(3_600)).body.data.actionRunId;
    const id = actionRunIds.parse(actionRunId)!;
    const cancelled: string[] = [];
    const temporalOfStart = {
      async startUnlessStarted() {
        const { status } = await api.post(`/api/v1/integrations/actions/${actionRunId}/cancel`);
        return status === 200;
      },
      cancel: async (workflowId: string) => void cancelled.push(workflowId),
    };
    const { rows } = await product.database.pool.query(
      'select organization_id as "organizationId", environment from integration_action where id = $1',
      [id],
    );
    const services = { temporal: temporalOfStart, actionPolicy: {} };
    await actionJob.start(services as never, new Scope(product.database, rows[0], 'start'), id);
    expect(cancelled).toEqual([jobWorkflowId(actionContract, id)]);
  });

  test('can be read and cancelled by its caller, under either mount, and no more once it runs', async () => {
    const { body } = await invite(3_600, {}, { 'idempotency-key': 'cancelled' });
    const { actionRunId, runAt } = body.data;
    const names = { actionRunId, integration: 'linkedin', action: 'send_connection', runAt };
    const read = async (id = actionRunId, mount = '/api/v1') => api.get(`${mount}/integrations/actions/${id}`);
    const cancel = (id = actionRunId, mount = '/api/v1') => api.post(`${mount}/integrations/actions/${id}/cancel`);
    const waiting = await read();
    expect([waiting.status, waiting.body.data]).toEqual([
      200,
      { ...names, status: 'scheduled', endedAt: null, error: null },
    ]);
    const cancelled = await cancel();
    expect([cancelled.status, cancelled.body.data]).toEqual([
      200,
      { ...names, status: 'cancelled', endedAt: expect.any(String), error: null },
    ]);
    expect((await cancel(actionRunId, '/v1')).body).toEqual(cancelled.body);
    expect((await read(actionRunIds.parse(actionRunId)!, '/v1')).body).toEqual(cancelled.body);
    const handle = temporal.workflow.getHandle(jobWorkflowId(actionContract, actionRunIds.parse(actionRunId)!));
    await until('its workflow has stopped', async () => {
      const found = await handle.describe().catch(() => undefined);
      // Its start may not have been made when it was cancelled; then it is never made.
      return found === undefined || found.status.name !== 'RUNNING';
    });
    expect(await rowOf(actionRunId)).toMatchObject({ status: 'cancelled' });

    const done = (await invite(1)).body.data.actionRunId;
    await isOver(done);
    expect((await read(done)).body.data).toMatchObject({
      status: 'completed',
      endedAt: expect.any(String),
      error: null,
    });
    const late = await cancel(done);
    expect([late.status, late.body.error.code, late.body.error.details]).toEqual([
      409,
      'conflict',
      { actionRunId: done, status: 'completed' },
    ]);
    const { client, actionRunId: failing } = await disconnectedMeanwhile();
    expect((await client.get(`/api/v1/integrations/actions/${failing}`)).body.data).toMatchObject({
      status: 'failed',
      error: { code: 'not_connected', message: expect.any(String) },
    });
    for (const id of [failing, 'act_nothing', 'nothing', 'act_0199aaaabbbb7ccc8dddeeeeffff0000']) {
      for (const answer of [await read(id), await cancel(id)]) {
        expect([answer.status, answer.body.error.code, answer.body.error.details]).toEqual([
          404,
          'not_found',
          { actionRunId: id },
        ]);
      }
    }
  });

  test('is refused where too many wait', async () => {
    const { client, organization } = await newTenant('free');
    await product.database.pool.query(
      `insert into integration_action (id, organization_id, environment, integration, action, account_id, status, repeatable,
              payload, due_at, delayed, attempts, paused_ms, correlation_id, created_at)
       select gen_random_uuid(), $1, 'test', 'linkedin', 'send_connection', 'x', 'scheduled', true, 'x',
              clock_timestamp() + interval '1 day', true, 0, 0, 'x', clock_timestamp()
         from generate_series(1, 100)`,
      [organization],
    );
    const { status, body, headers } = await invite(5, {}, {}, client);
    expect([status, body.error.code, body.error.details.window]).toEqual([
      429,
      'rate_limit_exceeded',
      'scheduled_actions',
    ]);
    expect(headers.get('retry-after')).toBe('5');
    await product.database.pool.query('delete from integration_action where organization_id = $1', [organization]);
  });
});
