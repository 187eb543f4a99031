import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { automationLimits } from '../../src/automation/core/limits.ts';
import { ActiveRunLimiter } from '../../src/automation/runs/active-run-limiter.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeWorkflow } from './make-workflow.ts';

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
    const policy = { leaseMs: 1, admittedMs: 60_000, everyMs: 1_000 };
    const [died, lives] = [new ActiveRunLimiter(policy), new ActiveRunLimiter({ ...policy, leaseMs: 60_000 })];
    const asking = runs(slots + 2);
    expect(await lives.claim(scope, asking[0]!)).toBe(true);
    for (const id of asking.slice(1, slots)) expect(await died.claim(scope, id)).toBe(true);
    for (const id of asking.slice(slots)) expect(await lives.claim(scope, id)).toBe(false);
    await until('the leases have run out', async () => {
      await lives.tend(product.database);
      return (await totals()).waiting === 0;
    });
    expect(await totals()).toEqual({ held: 3, waiting: 0, runs: 3 });
    for (const id of [asking[0]!, ...asking.slice(slots)]) expect(await lives.claim(scope, id)).toBe(true);
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
  const calls = () =>
    product.process.log.filter(({ msg, runId }) => msg === 'model called' && started.includes(String(runId)));
  const slots = automationLimits.callingRuns.of('pro');
  const crowded = { held: slots, waiting: 130 - slots, runs: 130 };
  await until('all of them call or wait', async () => (await crowd.totals()).runs === 130, 30_000);
  expect(await crowd.totals()).toEqual(crowded);

  const quick = await makeWorkflow(other.api, slow(0.1));
  const answer = await other.api.post(`/v1/workflows/${quick.id}/execute`, { input: 'x' });
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
  // A run that answers at once needs no slot.
  const instant = await makeWorkflow(crowd.api);
  expect(await crowd.api.post(`/v1/workflows/${instant.id}/execute`, { input: 'x' })).toMatchObject({ status: 200 });
  expect(await crowd.totals()).toEqual(crowded);
  await until('they are logged', async () => calls().length >= slots);
  expect(calls()).toHaveLength(slots);

  await crowd.api.delete(`/v1/workflows/${id}`);
  await until('nothing is left', async () => (await crowd.totals()).runs === 0, 60_000);
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
  const answer = await other.api.post(`/v1/workflows/${one.id}/execute`, { input: 'x' });
  expect(answer.status).toBe(200);
  const { rows } = await product.database.pool.query(
    `select count(*) filter (where crowd.finished_at between mine.created_at and mine.finished_at)::int as meanwhile,
            count(*) filter (where crowd.finished_at is null or crowd.finished_at > mine.finished_at)::int as later
       from run crowd, run mine where crowd.organization_id = $1 and mine.organization_id = $2`,
    [crowd.scope.tenant.organizationId, other.scope.tenant.organizationId],
  );
  // Those that were under way when it came, and few after them.
  expect(rows[0].meanwhile).toBeLessThan(40);
  expect(rows[0].later).toBeGreaterThan(0);
  await crowd.api.delete(`/v1/workflows/${many.id}`);
});
