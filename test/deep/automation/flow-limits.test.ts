import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { updateOrganization } from '../../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { makeFlow } from '../../automation/make-flow.ts';
import { endOf, inB } from '../../automation/make-workflow.ts';
import { whileHeld } from '../../hold-lock.ts';
import { type SmtpServer, startSmtpServer } from '../../operations/smtp-server.ts';
import { type StartedProduct, startProduct } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { type TemporalView, viewTemporal } from '../../temporal-view.ts';
import { untilDayHasRoom } from '../../tenancy/rate-windows.ts';
import { until } from '../../until.ts';

const inA = { 'x-api-variant': 'A' };
/** What the plans of these tests include. */
const limits = {
  free: { waitingRuns: 2 },
  pro: { openApprovals: 2, mailsPerDay: 2 },
  team: { queuedRuns: 3 },
};

let product: StartedProduct;
let smtp: SmtpServer;
const folder = mkdtempSync(join(tmpdir(), 'atelier-mail-'));
let temporal: TemporalView;
beforeAll(async () => {
  smtp = await startSmtpServer();
  temporal = await viewTemporal();
  const URL_SIGNING_KEY = Buffer.alloc(32, 'k').toString('base64');
  const env = { SMTP_URL: smtp.url, MAIL_FOLDER: folder, URL_SIGNING_KEY };
  product = await startProduct({ ...env, PLAN_LIMITS: JSON.stringify(limits) });
});
afterAll(async () => {
  await temporal.close();
  await product.close();
  await smtp.close();
  rmSync(folder, { recursive: true, force: true });
});

const clientOf = async (plan: keyof typeof limits, key: 'testKey' | 'liveKey' = 'testKey') =>
  apiClient(product.process.api, (await product.createTenant({ plan }))[key]);

async function start(api: ApiClient, ...steps: Record<string, unknown>[]): Promise<string> {
  const id = await makeFlow(product, api, steps);
  return (await api.post(`/api/v1/workflows/${id}/execute`, { input: 1, async: true }, inA)).body.data.runId;
}
const rowsOf = async (sql: string, ...values: unknown[]) => (await product.database.pool.query(sql, values)).rows;
const untilWaiting = (runId: string) =>
  until('the run waits', async () => {
    const rows = await rowsOf('select from run where id = $1 and waiting_since is not null', runId);
    return rows.length > 0;
  });

const nap = { id: 'nap', type: 'wait', for: 3_600 };
const ask = (id: string, more = {}) => ({ id, type: 'approval', message: 'Go on?', ...more });
const tooMany = (limit: number, plan: string) => ({ code: 'too_many_waiting', details: { limit, plan } });

describe('a plan includes so many', () => {
  test('waiting runs: the steps of one more fail, and one that is resumed makes room', async () => {
    const api = await clientOf('free');
    const runs = [await start(api, nap), await start(api, nap)];
    for (const runId of runs) await untilWaiting(runId);
    expect((await endOf(api, await start(api, nap))).error).toMatchObject({ stepId: 'nap', ...tooMany(2, 'free') });
    // Steps of features wait for what they began, and never fail for it.
    const draw = { id: 'draw', type: 'image', payload: { prompt: 'A boat' } };
    const drawing = await start(api, draw);
    await untilWaiting(drawing);
    await api.post(`/api/v1/runs/${drawing}/cancel`, {});
    // A short wait is one too; a run that does not wait is none.
    const compute = { id: 'one', type: 'transform', expression: '1' };
    expect((await endOf(api, await start(api, compute))).status).toBe('completed');
    await api.post(`/api/v1/runs/${runs[0]}/cancel`, {});
    await untilWaiting(await start(api, nap));
  });

  test('waiting runs: a step of a feature goes on beside one that fails because of them', async () => {
    const api = await clientOf('free');
    for (const waiting of [await start(api, nap), await start(api, nap)]) await untilWaiting(waiting);
    // Nothing makes images here: the step waits until its run is cancelled.
    const draw = { id: 'draw', type: 'image', payload: { prompt: 'A boat' } };
    const branches = [
      { id: 'a', steps: [nap] },
      { id: 'b', steps: [draw] },
    ];
    const runId = await start(api, { id: 'both', type: 'parallel', mode: 'settled', branches });
    await untilWaiting(runId);
    const steps = await rowsOf('select step_id, status, error from run_step where run_id = $1 order by step_id', runId);
    expect(steps).toMatchObject([
      { step_id: 'both', status: 'running' },
      { step_id: 'draw', status: 'waiting', error: null },
      { step_id: 'nap', status: 'failed', error: tooMany(2, 'free') },
    ]);
    await api.post(`/api/v1/runs/${runId}/cancel`, {});
  });

  test.each([
    ['waiting runs', 'free', nap],
    ['open approvals', 'pro', ask('one')],
  ] as const)('%s, and many runs that begin to wait at once do not exceed it together', async (_, plan, step) => {
    const api = await clientOf(plan);
    const id = await makeFlow(product, api, [step]);
    // Several have counted before the first of them is written.
    await whileHeld(product, 'lock table run_wait in exclusive mode', async () => {
      const execute = () => api.post(`/api/v1/workflows/${id}/execute`, { input: 1, async: true }, inA);
      await Promise.all(Array.from({ length: 10 }, execute));
      await until('several are about to wait', async () => {
        const held = await rowsOf(
          `select from pg_locks l join pg_database d on d.oid = l.database
            where d.datname = current_database() and l.relation = 'run_wait'::regclass and not l.granted`,
        );
        return held.length >= 5;
      });
    });
    const ends = await until('all of them wait or have ended', async () => {
      const rows = await rowsOf(
        `select s.status, s.error ->> 'code' as code from run r left join run_step s on s.run_id = r.id
          where r.automation_id = $1 and (r.waiting_since is not null or r.status = 'failed')`,
        id,
      );
      return rows.length === 10 && rows;
    });
    const waiting = { status: 'waiting', code: null };
    const refused = { status: 'failed', code: 'too_many_waiting' };
    expect(ends.toSorted((one, other) => (one.status < other.status ? 1 : -1))).toEqual([
      ...Array(2).fill(waiting),
      ...Array(8).fill(refused),
    ]);
    const open = await rowsOf(`select from approval where automation_id = $1 and status = 'pending'`, id);
    expect(open).toHaveLength(plan === 'pro' ? 2 : 0);
  });

  test('open approvals: the step of one more fails, and an answer makes room', async () => {
    const api = await clientOf('pro');
    for (const runId of [await start(api, ask('one')), await start(api, ask('two'))]) await untilWaiting(runId);
    expect((await endOf(api, await start(api, ask('three')))).error).toMatchObject(tooMany(2, 'pro'));
    const [first] = (await api.get('/api/v1/approvals?status=pending')).body.data.approvals;
    await api.post(`/api/v1/approvals/${first.id}/respond`, { action: 'approve' });
    await untilWaiting(await start(api, ask('four')));
  });

  test('open approvals: one run that asks for many at once begins no more', async () => {
    const api = await clientOf('pro');
    const each = { id: 'each', type: 'map', items: '[1, 2, 3, 4, 5]', mode: 'settled', steps: [ask('one')] };
    const runId = await start(api, each);
    await untilWaiting(runId);
    const approvals = async () => (await api.get('/api/v1/approvals?status=pending')).body.data.approvals;
    const open = await approvals();
    expect(open).toHaveLength(2);
    for (const { id } of open) await api.post(`/api/v1/approvals/${id}/respond`, { action: 'approve' });
    const { results } = (await endOf(api, runId)).output.steps.each;
    const refused = results.flatMap(({ error }: { error: { code: string } | null }) => (error ? [error.code] : []));
    expect(refused).toEqual(['too_many_waiting', 'too_many_waiting', 'too_many_waiting']);
  });

  test('runs that wait to begin: of a batch all or none', async () => {
    const api = await clientOf('team');
    const id = await makeFlow(product, api, [nap]);
    const later = (count: number) => Array.from({ length: count }, () => ({ delay: 3_600 }));
    const batch = (count: number) => api.post(`/api/v1/workflows/${id}/batch`, { items: later(count) }, inA);
    const refused = { status: 403, body: { error: { code: 'forbidden', details: { limit: 3, plan: 'team' } } } };
    expect((await batch(2)).status).toBe(202);
    expect(await batch(2)).toMatchObject(refused);
    const execute = () => api.post(`/api/v1/workflows/${id}/execute`, { delay: 3_600, async: true }, inA);
    expect((await execute()).status).toBe(200);
    expect(await execute()).toMatchObject(refused);
    expect((await api.get(`/api/v1/workflows/${id}/runs`)).body.data.pagination.total).toBe(3);
    const parent = { id: 'child', type: 'workflow', workflowId: id };
    await api.post(`/api/v1/workflows/${id}/pause`);
    expect((await endOf(api, await start(api, parent))).error).toMatchObject({
      code: 'child_failed',
      details: { runId: null, code: 'forbidden' },
    });
  });

  test('runs that wait to begin: a trigger and a schedule say why they started none', async () => {
    const api = await clientOf('team');
    const id = await makeFlow(product, api, [nap]);
    const items = Array.from({ length: 3 }, () => ({ delay: 3_600 }));
    expect((await api.post(`/api/v1/workflows/${id}/batch`, { items }, inA)).status).toBe(202);
    await api.post(`/api/v1/workflows/${id}/pause`);
    const queueLimit = { at: expect.any(String), reason: 'queue_limit' };

    const triggers = [{ event: 'queue.filled' }];
    expect((await api.request('PUT', `/api/v1/workflows/${id}/triggers`, { triggers })).status).toBe(200);
    expect((await api.post('/api/v1/events', { name: 'queue.filled' })).body.data).toMatchObject({ started: 1 });
    const trigger = await until('the trigger has skipped', async () => {
      const [one] = (await api.get(`/api/v1/workflows/${id}/triggers`)).body.data.triggers;
      return one.lastSkipped !== null && one;
    });
    expect(trigger).toMatchObject({ lastFiredAt: null, lastSkipped: queueLimit });

    const path = `/api/v1/workflows/${id}/schedule`;
    expect((await api.request('PUT', path, { cron: '@yearly', timezone: 'UTC' })).status).toBe(200);
    const connection = await Connection.connect({ address: runningServers().temporalAddress });
    await new Client({ connection }).schedule.getHandle(`schedule-${id}`).trigger();
    await connection.close();
    const schedule = await until('the schedule has skipped', async () => {
      const { data } = (await api.get(path)).body;
      return data.lastSkipped !== null && data;
    });
    expect(schedule).toMatchObject({ lastRunAt: null, lastSkipped: queueLimit });
    expect((await api.get(`/api/v1/workflows/${id}/runs`)).body.data.pagination.total).toBe(3);
  });

  test('runs that wait to begin: a batch that is refused counts no runs of the day', async () => {
    await untilDayHasRoom(60);
    const { testKey, organizationId } = await product.createTenant({ plan: 'team' });
    await updateOrganization(product.database, organizationId, { rateDay: 15 });
    const api = apiClient(product.process.api, testKey);
    const id = await makeFlow(product, api, [nap]);
    const batchOf = async (count: number) => {
      const items = Array.from({ length: count }, () => ({ delay: 3_600 }));
      return (await api.post(`/api/v1/workflows/${id}/batch`, { items }, inA)).status;
    };
    for (let times = 0; times < 3; times++) expect(await batchOf(4)).toBe(403);
    expect(await batchOf(3)).toBe(202);
  });

  const filed = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => /^To: (\S+)\r$/m.exec(readFileSync(join(folder, name), 'utf8'))![1]!);

  test.each([
    ['liveKey', () => smtp.mails.map(({ to }) => to)],
    ['testKey', filed],
  ] as const)('mails a day, of a %s: an approval stays open without, and its step says so', async (key, mailed) => {
    await untilDayHasRoom(60);
    const api = await clientOf('pro', key);
    const approvers = ['one', 'two', 'three', 'four'].map((name) => `${name}@example.com`);
    const runId = await start(api, ask('ask', { approvers }));
    const stepOf = async () => (await api.get(`/api/v1/runs/${runId}`, inB)).body.data.stepResults[0];
    await until('two are not mailed', async () => {
      const [step] = await rowsOf('select warnings_total as warnings from run_step where run_id = $1', runId);
      return step?.warnings === 2;
    });
    const { warnings } = await stepOf();
    const unmailed = warnings.map(({ name }: { name: string }) => name);
    // A mail is sent after it was counted.
    await until('the others are mailed', async () => mailed().length + unmailed.length >= approvers.length);
    expect(new Set(warnings.map(({ code }: { code: string }) => code))).toEqual(new Set(['mail_limit']));
    expect([...mailed(), ...unmailed].sort()).toEqual([...approvers].sort());
    const [approval] = (await api.get('/api/v1/approvals?status=pending')).body.data.approvals;
    expect((await api.post(`/api/v1/approvals/${approval.id}/respond`, { action: 'approve' })).status).toBe(200);
    expect((await endOf(api, runId)).status).toBe('completed');
    expect((await stepOf()).warnings).toEqual(warnings);
  });
});

test('a run has so many waiting steps, and the others of them fail', async () => {
  const api = await clientOf('team');
  const map = (id: string, items: string, ...steps: object[]) => ({
    id,
    type: 'map',
    items,
    concurrency: 20,
    mode: 'settled',
    steps,
  });
  const gate = { id: 'gate', type: 'event', event: 'gate.opened' };
  // 20 times 3 times 20.
  const id = await makeFlow(product, api, [map('some', 'input', map('more', '[1, 2, 3]', map('each', 'input', gate)))]);
  const body = { input: Array.from({ length: 20 }, (_, index) => index), async: true };
  const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, body, inA)).body.data;
  await untilWaiting(runId);
  const byStatus = `
    select status, count(*)::int, min(error::text)::jsonb ->> 'code' as code from run_step
     where run_id = $1 and step_id = 'gate' group by 1 order by 1`;
  expect(await rowsOf(byStatus, runId)).toEqual([
    { status: 'failed', count: 200, code: 'too_many_waiting' },
    { status: 'waiting', count: 1_000, code: null },
  ]);
  expect((await api.post('/api/v1/events', { name: 'gate.opened' })).body.data).toMatchObject({ resumed: 1_000 });
  expect((await endOf(api, runId)).status).toBe('completed');
  expect(await rowsOf(byStatus, runId)).toMatchObject([{ status: 'completed', count: 1_000 }, { count: 200 }]);
});

test('an event step looks at 1 MiB of outputs at most', async () => {
  const api = await clientOf('team');
  const large = { id: 'large', type: 'transform', expression: '[input, input]' };
  const gate = (match: string) => ({ id: 'gate', type: 'event', event: 'gate.opened', match });
  const runOf = async (match: string) => {
    const id = await makeFlow(product, api, [large, gate(match)]);
    const body = { input: 'x'.repeat(600_000), async: true };
    return (await api.post(`/api/v1/workflows/${id}/execute`, body, inA)).body.data.runId;
  };
  for (const match of ['steps.large.output.size() == event.data.n', 'steps.size() == event.data.n']) {
    const { error } = await endOf(api, await runOf(match));
    expect(error).toMatchObject({
      stepId: 'gate',
      code: 'expression_error',
      message: expect.stringContaining('1 MiB'),
    });
  }
  const other = await runOf('input.size() == event.data.n');
  await untilWaiting(other);
  await api.post('/api/v1/events', { name: 'gate.opened', data: { n: 600_000 } });
  expect((await endOf(api, other)).status).toBe('completed');
});

test('a run of many steps pauses between short waits: all of its steps are loaded each time', async () => {
  const api = await clientOf('team');
  const steps = ['one', 'two', 'three'].map((step) => ({ id: step, type: 'transform', expression: '1' }));
  const each = { id: 'each', type: 'map', items: 'input', steps };
  const id = await makeFlow(product, api, [each, { id: 'nap', type: 'wait', for: 1 }]);
  const napOf = async (items: number) => {
    const body = { input: Array.from({ length: items }, () => 1), async: true };
    const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, body, inA)).body.data;
    expect((await endOf(api, runId)).status).toBe('completed');
    const timers = await temporal.timersOf(runId);
    expect(timers).toHaveLength(1);
    return timers[0];
  };
  expect(await napOf(2)).toBeLessThanOrEqual(1_000);
  expect(await napOf(1_000)).toBeGreaterThanOrEqual(1_500);
});
