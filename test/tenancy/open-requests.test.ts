import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { clock } from '../../src/platform/clock.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization, deleteOrganization } from '../../src/tenancy/organizations.ts';
import { type Answer, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { advance } from '../clock.ts';
import { type EventStream, followEvents } from '../event-stream.ts';
import { whileHeld } from '../hold-lock.ts';
import type { OwnApi } from '../own-api.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { revoke } from './revoke.ts';

// No process performs runs: whatever is started stays queued, and its streams and waiting requests stay open.
let product: Product;
/** The second one can be stopped and continued. */
let processes: [OwnApi, ProductProcess];

beforeAll(async () => {
  product = await openProduct();
  processes = await Promise.all([product.serve(), product.start(['api'])]);
});
afterAll(() => product.close());

/** An organization on the free plan, whose requests are not what limits it, with a workflow and a queued run. */
async function openTenant() {
  const limits = { rateMinute: 10_000, rateDay: 10_000 };
  const { id: organizationId } = await createOrganization(product.database, { name: 'Open', plan: 'free', ...limits });
  const issue = (expires?: Date) =>
    createKey(product.database, {
      organizationId,
      environment: 'test',
      ...(expires && { expires: expires.toISOString() }),
    });
  const { key } = await issue();
  const api = apiClient(processes[0].api, key);
  const { id } = await makeWorkflow(api);
  const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { async: true });
  return { organizationId, key, issue, workflowId: id, runId: body.data.runId as string };
}

const follow = (process: Pick<OwnApi, 'api'>, key: string, runId: string) =>
  followEvents(`${process.api}/api/v1/runs/${runId}/events`, key);
const wait = (process: Pick<OwnApi, 'api'>, key: string, workflowId: string) =>
  apiClient(process.api, key).post(`/api/v1/workflows/${workflowId}/execute`, { input: 'x' });

/** Follows a stream to its end. @returns the names of its events, and when it ended */
async function watch({ events }: EventStream): Promise<{ names: string[]; endedAt: number }> {
  const names = [];
  for await (const { name } of events) names.push(name);
  return { names, endedAt: Date.now() };
}

const runsOf = async (workflowId: string): Promise<number> => {
  const { rows } = await product.database.pool.query('select id from run where automation_id = $1', [workflowId]);
  return rows.length;
};
/** Ends the runs of a workflow as a process elsewhere does. */
const endRuns = (workflowId: string) =>
  product.database.pool.query(
    `update run set status = 'completed', output = '{"result": "late", "steps": {}}', started_at = now(), finished_at = now()
      where automation_id = $1`,
    [workflowId],
  );

/** A second, on a machine that does nothing else; and far less than what is waited for takes. */
const soonMs = 30_000;

const refusal = (reason: string) => ({ status: 401, body: { error: { code: 'unauthorized', details: { reason } } } });

describe('a key that is revoked', () => {
  test('loses what it has open in every process soon, and other keys lose nothing', async () => {
    const { key, issue, workflowId, runId } = await openTenant();
    const other = await issue();
    const revoked = await issue();
    const kept = await follow(processes[0], other.key, runId);
    const streams = await Promise.all(processes.map((one) => follow(one, revoked.key, runId)));
    const ends = Promise.all(streams.map(watch));
    const answers = Promise.all(
      processes.map(async (one) => ({ answer: await wait(one, revoked.key, workflowId), at: Date.now() })),
    );
    await until('both wait', async () => (await runsOf(workflowId)) === 3);
    await revoke(product.database, revoked.id);
    const revokedAt = Date.now();
    for (const { names, endedAt } of await ends) {
      expect(names).toEqual([]);
      expect(endedAt - revokedAt).toBeLessThan(soonMs);
    }
    for (const { answer, at } of await answers) {
      expect(answer).toMatchObject(refusal('invalid_api_key'));
      expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
      expect(at - revokedAt).toBeLessThan(soonMs);
    }
    const keptEnd = watch(kept);
    await endRuns(workflowId);
    expect((await keptEnd).names).toEqual(['run.started', 'run.completed']);
    expect((await apiClient(processes[0].api, key).get('/api/v1/health')).status).toBe(200);
  });

  test('gets no later events, even from a process that stood still', async () => {
    const { issue, workflowId, runId } = await openTenant();
    const revoked = await issue();
    const [, frozen] = processes;
    const end = watch(await follow(frozen, revoked.key, runId));
    const answer = wait(frozen, revoked.key, workflowId);
    await until('it waits', async () => (await runsOf(workflowId)) === 2);
    process.kill(frozen.pid, 'SIGSTOP');
    try {
      await revoke(product.database, revoked.id);
      await endRuns(workflowId);
    } finally {
      process.kill(frozen.pid, 'SIGCONT');
    }
    expect((await end).names).toEqual([]);
    expect(await answer).toMatchObject(refusal('invalid_api_key'));
  });
});

test('the change of another organization makes no process check what is open', async () => {
  const listening = new pg.Client({ connectionString: product.databaseUrl });
  await listening.connect();
  const payload = `changed ${randomUUID()}`;
  const confirmed = new Set<number>();
  listening.on('notification', (sent) => {
    if (sent.payload === payload) confirmed.add(sent.processId);
  });
  try {
    await listening.query('listen atelier_keys_changed_heard');
    // Again where a machine was so busy that a process may have missed an announcement: then it does check.
    const names = await until('nothing is checked', async () => {
      const { key, workflowId, runId } = await openTenant();
      const end = watch(await follow(processes[0], key, runId));
      confirmed.clear();
      const seen = await whileHeld(product, 'lock table api_key in access exclusive mode', async () => {
        await until('both have confirmed', async () => {
          await listening.query(`select pg_notify('atelier_keys_changed', $1)`, [payload]);
          return confirmed.size >= processes.length;
        });
        await endRuns(workflowId);
        return (await end).names;
      });
      return seen.includes('run.completed') && seen;
    });
    expect(names).toEqual(['run.started', 'run.completed']);
  } finally {
    await listening.end();
  }
});

test('a key that expires loses what it has open, too', async () => {
  const { issue, workflowId, runId } = await openTenant();
  const { key } = await issue(new Date(clock.now() + 3_600_000));
  const stream = await follow(processes[0], key, runId);
  expect(stream.status).toBe(200);
  const end = watch(stream);
  const answer = wait(processes[1], key, workflowId);
  await until('it waits', async () => (await runsOf(workflowId)) === 2);
  const expiredAt = Date.now();
  await advance(product, 3_600_000);
  expect(await answer).toMatchObject(refusal('expired_api_key'));
  const { names, endedAt } = await end;
  expect(names).toEqual([]);
  expect(endedAt).toBeGreaterThanOrEqual(expiredAt);
  expect(endedAt - expiredAt).toBeLessThan(soonMs);
});

test('a key that was rotated loses what it has open when the overlap is over', async () => {
  const { issue, runId } = await openTenant();
  const { id, key } = await issue();
  const end = watch(await follow(processes[0], key, runId));
  const rotated = await apiClient(processes[1].api, key).post(`/api/v1/keys/${id}/rotate`, { overlapSeconds: 3_600 });
  expect(rotated.status).toBe(201);
  const overAt = Date.now();
  await advance(product, 3_600_000);
  const { names, endedAt } = await end;
  expect(names).toEqual([]);
  expect(endedAt).toBeGreaterThanOrEqual(overAt);
  expect(endedAt - overAt).toBeLessThan(soonMs);
});

test('the keys of an organization that is deleted lose what they have open', async () => {
  const { organizationId, key, workflowId, runId } = await openTenant();
  const end = watch(await follow(processes[0], key, runId));
  const answer = wait(processes[1], key, workflowId);
  await until('it waits', async () => (await runsOf(workflowId)) === 2);
  await deleteOrganization(product.database, organizationId);
  expect((await end).names).toEqual([]);
  expect(await answer).toMatchObject(refusal('invalid_api_key'));
});

describe('a plan includes so many', () => {
  test('open event streams, and a closed one gives its place free', async () => {
    const { key, runId } = await openTenant();
    const streams = await Promise.all(Array.from({ length: 14 }, () => follow(processes[0], key, runId)));
    const opened = streams.filter(({ status }) => status === 200);
    expect(opened).toHaveLength(10);
    expect(streams.filter(({ status }) => status === 429)).toHaveLength(4);
    const refused = await apiClient(processes[0].api, key).get(`/api/v1/runs/${runId}/events`);
    expect(refused).toMatchObject({
      status: 429,
      body: { error: { code: 'rate_limit_exceeded', details: { limit: 10, window: 'event_streams' } } },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    opened[0]!.close();
    const next = await until('a place is free', async () => {
      const stream = await follow(processes[0], key, runId);
      return stream.status === 200 && stream;
    });
    for (const stream of [...opened, next]) stream.close();
  });

  test('waiting requests, counted separately, and one more starts no run and uses no Idempotency-Key', async () => {
    const { key, issue, workflowId, runId } = await openTenant();
    const streams = await Promise.all(Array.from({ length: 10 }, () => follow(processes[0], key, runId)));
    const { key: waiting, id } = await issue();
    const answers: Promise<Answer>[] = Array.from({ length: 10 }, () => wait(processes[0], waiting, workflowId));
    await until('all wait', async () => (await runsOf(workflowId)) === 11);
    const api = apiClient(processes[0].api, key);
    const path = `/api/v1/workflows/${workflowId}/execute`;
    const once = { 'idempotency-key': 'once' };
    expect(await api.post(path, { input: 'x' }, once)).toMatchObject({
      status: 429,
      body: { error: { details: { limit: 10, window: 'waiting_requests' } } },
    });
    expect(await runsOf(workflowId)).toBe(11);
    // No caller waits for this one.
    expect((await api.post(path, { input: 'y', async: true }, once)).status).toBe(200);
    await revoke(product.database, id);
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(refusal('invalid_api_key'));
    for (const stream of streams) stream.close();
    await endRuns(workflowId);
  });
});
