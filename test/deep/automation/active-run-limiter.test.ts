import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { automationLimits } from '../../../src/automation/core/limits.ts';
import { ActiveRunLimiter } from '../../../src/automation/runs/active-run-limiter.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { newId } from '../../../src/platform/ids.ts';
import { directGraceMs } from '../../../src/platform/outbox/enqueue.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { updateOrganization } from '../../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../../product.ts';
import { until } from '../../until.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

async function tenantOf(plan: string) {
  const tenant = await product.createTenant({ plan });
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, randomUUID());
  const totals = async () => {
    const { rows } = await product.database.pool.query(
      `select coalesce(sum(held), 0)::int as held, coalesce(sum(waiting), 0)::int as waiting,
              (select count(*) from calling_run where organization_id = $1)::int as runs
         from calling_total where organization_id = $1`,
      [organizationId],
    );
    return rows[0];
  };
  return { ...tenant, api: apiClient(product.process.api, tenant.testKey), scope, totals };
}

/** Ids in the order of time. */
const runs = (count: number) => Array.from({ length: count }, () => newId()).sort();

describe('slots for runs that call out', () => {
  const slots = automationLimits.callingRuns.of('free');

  test('are as many as the plan says, however many ask at once, and are given in the order of the runs', async () => {
    const { scope, totals } = await tenantOf('free');
    const limiter = new ActiveRunLimiter();
    const asking = runs(20);
    const held = await Promise.all(asking.map(async (id) => ((await limiter.claim(scope, id)) ? [id] : [])));
    expect(held.flat()).toHaveLength(slots);
    expect(await totals()).toEqual({ held: slots, waiting: 20 - slots, runs: 20 });
    const waiting = asking.filter((id) => !held.flat().includes(id));
    // Asking again changes nothing.
    for (const id of held.flat()) expect(await limiter.claim(scope, id)).toBe(true);
    expect(await limiter.claim(scope, waiting[3]!)).toBe(false);

    await limiter.release(scope, held.flat()[0]!);
    await limiter.release(scope, held.flat()[0]!);
    expect(await limiter.claim(scope, waiting[1]!)).toBe(false);
    expect(await limiter.claim(scope, waiting[0]!)).toBe(true);
    // A waiter that gives up is skipped.
    await limiter.release(scope, waiting[1]!);
    await limiter.release(scope, waiting[0]!);
    expect(await limiter.claim(scope, waiting[2]!)).toBe(true);

    await Promise.all(asking.map((id) => limiter.release(scope, id)));
    expect(await totals()).toEqual({ held: 0, waiting: 0, runs: 0 });
  });

  test('wake a run whose earlier signal was sent and is not crossed off yet', async () => {
    const { pool } = product.database;
    // The product's own drain takes an entry after five seconds. On a busy machine it may come first: then all begins anew.
    const { left, scope } = await until('the entry is read before it is due', async () => {
      const { scope } = await tenantOf('free');
      const limiter = new ActiveRunLimiter();
      const [waiting, ...others] = runs(slots + 1).reverse();
      for (const id of others) expect(await limiter.claim(scope, id)).toBe(true);
      expect(await limiter.claim(scope, waiting!)).toBe(false);
      const { organizationId } = scope.tenant;
      // A drain has sent this signal, and deletes the entry next.
      const { rows } = await pool.query(
        `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
         values (uuidv7(), $1, 'test', 'run.proceed', $2, 'earlier', 1, now(), now() + interval '1 hour') returning id`,
        [organizationId, waiting],
      );
      const begunAt = performance.now();
      await limiter.release(scope, others[0]!);
      await pool.query('delete from outbox where id = $1', [rows[0].id]);
      const left = await pool.query(
        `select correlation_id from outbox where kind = 'run.proceed' and subject_id = $1`,
        [waiting],
      );
      const isDue = performance.now() - begunAt > directGraceMs;
      await Promise.all([waiting!, ...others].map((id) => limiter.release(scope, id)));
      return !isDue && { left, scope };
    });
    expect(left.rows).toEqual([{ correlation_id: scope.correlationId }]);
  });

  test('a flow that gets none takes its place together with its waiting steps, which readers see', async () => {
    const { scope } = await tenantOf('free');
    const limiter = new ActiveRunLimiter();
    const [flow, ...others] = runs(slots + 1);
    for (const id of others) await limiter.claim(scope, id);
    const steps = [{ stepId: 'next', path: 'each.0.next' }];
    expect(await limiter.claim(scope, flow!, steps)).toBe(false);
    const stepsOf = async (id: string) =>
      (await product.database.pool.query('select steps from calling_run where run_id = $1', [id])).rows[0].steps;
    expect(await stepsOf(flow!)).toEqual(steps);
    expect(await stepsOf(others[0]!)).toBeNull();
    await Promise.all([flow!, ...others].map((id) => limiter.release(scope, id)));
  });

  test('are as many as an operator says', async () => {
    const { organizationId, scope, totals } = await tenantOf('enterprise');
    const limiter = new ActiveRunLimiter();
    const asking = runs(4);
    await updateOrganization(product.database, organizationId, { callingRuns: 2 });
    for (const id of asking) await limiter.claim(scope, id);
    expect(await totals()).toEqual({ held: 2, waiting: 2, runs: 4 });
    await updateOrganization(product.database, organizationId, { callingRuns: 3 });
    await limiter.tend(product.database);
    expect(await totals()).toEqual({ held: 3, waiting: 1, runs: 4 });
    await expect(updateOrganization(product.database, organizationId, { callingRuns: 0 })).rejects.toThrow(
      'callingRuns',
    );
  });

  test('of a process that died come back, and only those', async () => {
    const { scope, totals } = await tenantOf('free');
    const policy = { leaseMs: 60_000, admittedMs: 60_000, everyMs: 1_000 };
    const [died, lives] = [new ActiveRunLimiter(policy), new ActiveRunLimiter(policy)];
    const asking = runs(slots + 2);
    expect(await lives.claim(scope, asking[0]!)).toBe(true);
    for (const id of asking.slice(1, slots)) expect(await died.claim(scope, id)).toBe(true);
    for (const id of asking.slice(slots)) expect(await lives.claim(scope, id)).toBe(false);
    // Not before: the product looks for such leases too, and would admit the runs that wait.
    const runOut = 'update calling_run set leased_until = clock_timestamp() where run_id = any($1)';
    await product.database.pool.query(runOut, [asking.slice(1, slots)]);
    await until('the leases have run out', async () => {
      await lives.tend(product.database);
      return (await totals()).waiting === 0;
    });
    expect(await totals()).toEqual({ held: 3, waiting: 0, runs: 3 });
    for (const id of [asking[0]!, ...asking.slice(slots)]) expect(await lives.claim(scope, id)).toBe(true);
  });

  test('that could not be released come back, although their process lives', async () => {
    const { scope, totals } = await tenantOf('free');
    const limiter = new ActiveRunLimiter({ leaseMs: 1_000, admittedMs: 60_000, everyMs: 1_000 });
    const [id] = runs(1);
    expect(await limiter.claim(scope, id!)).toBe(true);
    class LostScope extends Scope {
      override one(): Promise<never> {
        return Promise.reject(new Error('The database is away.'));
      }
    }
    const lost = new LostScope(product.database, scope.tenant, scope.correlationId);
    await expect(limiter.release(lost, id!)).rejects.toThrow('away');
    await until('the lease has run out', async () => {
      await limiter.tend(product.database);
      return (await totals()).runs === 0;
    });
  });
});

test('130 slow runs of one organization leave another’s quick, and those that are cancelled while they wait leave nothing', async () => {
  const crowd = await tenantOf('pro');
  const other = await tenantOf('free');
  const slow = (seconds: number) => ({ steps: [{ id: 'say', type: 'prompt', prompt: `sandbox:slow=${seconds}` }] });
  const startOf = async (api: ApiClient, id: string) =>
    (await api.post(`/v1/workflows/${id}/execute`, { input: 'x', async: true }, { 'x-api-variant': 'A' })).body.data
      .runId;
  const { id } = await makeWorkflow(crowd.api, slow(600));
  const started: string[] = [];
  while (started.length < 130) {
    started.push(...(await Promise.all(Array.from({ length: 13 }, () => startOf(crowd.api, id)))));
  }
  // A call that was interrupted on a busy machine is made again, by the same run.
  const calling = () =>
    new Set(
      product.process.log.flatMap(({ msg, runId }) =>
        msg === 'model called' && started.includes(String(runId)) ? [runId] : [],
      ),
    );
  const slots = automationLimits.callingRuns.of('pro');
  const crowded = { held: slots, waiting: 130 - slots, runs: 130 };
  await until('all of them call or wait', async () => (await crowd.totals()).runs === 130, 120_000);
  expect(await crowd.totals()).toEqual(crowded);

  const quick = await makeWorkflow(other.api, slow(0.1));
  const answer = await other.api.post(`/v1/workflows/${quick.id}/execute`, { input: 'x' });
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
  // A run that answers at once needs no slot.
  const instant = await makeWorkflow(crowd.api);
  expect(await crowd.api.post(`/v1/workflows/${instant.id}/execute`, { input: 'x' })).toMatchObject({ status: 200 });
  expect(await crowd.totals()).toEqual(crowded);
  await until('they are logged', async () => calling().size >= slots);
  expect(calling().size).toBe(slots);

  await crowd.api.delete(`/v1/workflows/${id}`);
  await until('nothing is left', async () => (await crowd.totals()).runs === 0);
  expect(await crowd.totals()).toEqual({ held: 0, waiting: 0, runs: 0 });
});

test('150 instant runs of one organization leave a slot to another’s', async () => {
  const crowd = await tenantOf('pro');
  const other = await tenantOf('free');
  const [many, one] = [await makeWorkflow(crowd.api), await makeWorkflow(other.api)];
  const execute = (body: object) => crowd.api.post(`/v1/workflows/${many.id}/execute`, { input: 'x', ...body });
  for (let started = 0; started < 150; started += 30) {
    await Promise.all(Array.from({ length: 30 }, () => execute({ async: true })));
  }
  // More come until the other's run has ended: on a busy machine those before it may all have ended when it begins.
  let isOver = false;
  const more = Array.from({ length: 10 }, async () => {
    while (!isOver) await execute({ async: true });
  });
  const answer = await other.api.post(`/v1/workflows/${one.id}/execute`, { input: 'x' }).finally(() => {
    isOver = true;
  });
  await Promise.all(more);
  expect(answer.status).toBe(200);
  const { rows } = await product.database.pool.query(
    `select count(*) filter (where crowd.finished_at between mine.created_at and mine.finished_at)::int as meanwhile,
            count(*) filter (where crowd.created_at < mine.finished_at
                               and (crowd.finished_at is null or crowd.finished_at > mine.finished_at))::int as later
       from run crowd, run mine where crowd.organization_id = $1 and mine.organization_id = $2`,
    [crowd.scope.tenant.organizationId, other.scope.tenant.organizationId],
  );
  // Those that were under way when it came, and few after them.
  expect(rows[0].meanwhile).toBeLessThan(40);
  expect(rows[0].later).toBeGreaterThan(0);
  await crowd.api.delete(`/v1/workflows/${many.id}`);
});
