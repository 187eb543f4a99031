import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { runIds } from '../../src/automation/core/ids.ts';
import type { RoleName } from '../../workers/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { httpServer, type LoopbackServer } from '../loopback-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';
import { endGrace } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(400_000);

/*
 * A process for each commit boundary of events, approvals, requests and batches. All of them die, one process takes their
 * place, and everything ends as though none had died.
 */

/** Processes of the API die in the request that reaches their fail point. */
const inRequests = [
  'event.received',
  'event.matched',
  'event.decided',
  'approval.before-commit',
  'approval.answered',
  'batch.before-commit',
  'batch.committed',
  'batch.cancelled',
  'batch.cancelling',
  'batch.ending',
] as const;
/** Workers die in what they do by themselves. */
const inWork = [
  'event.matched',
  'event.decided',
  'event.started',
  'approval.mailed',
  'wait.before-commit',
  'wait.opened',
  'wait.resolved',
  'step.sending',
  'step.called',
  'batch.ending',
] as const;

const worker: RoleName[] = ['runs', 'generation'];
const inA = { 'x-api-variant': 'A' };
const mails = mkdtempSync(join(tmpdir(), 'atelier-killed-'));

let product: Product;
let tenant: Tenant;
let server: LoopbackServer;
/** Requests by method and Idempotency-Key. */
const received: { method: string; key: string }[] = [];

beforeAll(async () => {
  server = await httpServer((request, response) => {
    received.push({ method: request.method!, key: String(request.headers['idempotency-key']) });
    response.setHeader('content-type', 'application/json').end('{"ok":true}');
  });
  const env = { ...secrets, MAIL_FOLDER: mails, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' };
  product = await openProduct({ entryPoint: soonNoticed, env });
  tenant = await product.createTenant({ plan: 'enterprise' });
});
afterAll(async () => {
  await product.close();
  await server.close();
});

const rowsOf = async (sql: string, ...values: unknown[]) => (await product.database.pool.query(sql, values)).rows;
const compute = { id: 'before', type: 'transform', expression: '1' };
const after = { id: 'after', type: 'transform', expression: 'input' };

async function start(client: ApiClient, steps: object[], input: unknown): Promise<string> {
  const id = await makeFlow(product, client, steps as Record<string, unknown>[]);
  const { body } = await client.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inA);
  return runIds.parse(body.data.runId)!;
}

const untilWaiting = (runId: string) =>
  until('the run waits', async () => {
    const rows = await rowsOf('select from run where id = $1 and waiting_since is not null', runId);
    return rows.length > 0;
  });

/** A workflow that an event starts. @returns its id */
async function triggered(client: ApiClient, event: string): Promise<string> {
  const id = await makeFlow(product, client, [{ id: 'echo', type: 'transform', expression: 'input' }]);
  await client.request('PUT', `/api/v1/workflows/${id}/triggers`, { triggers: [{ event }] });
  return id;
}

interface Request {
  at: string;
  method: string;
  path: string;
  body: Record<string, unknown>;
  headers: Record<string, string>;
  /** What a repetition answers. */
  answers: { status: number; body?: object };
}

/** What each request needs, and how it is repeated. */
async function prepare(client: ApiClient): Promise<Request[]> {
  return Promise.all(
    inRequests.map(async (at): Promise<Request> => {
      const headers = { ...inA, 'Idempotency-Key': at };
      const [kind] = at.split('.');
      if (kind === 'event') {
        const name = at.replace('.', '_');
        await triggered(client, name);
        const awaiting = { id: 'wait', type: 'event', event: name, match: 'event.data.of == input' };
        for (const input of [at, 'another']) await untilWaiting(await start(client, [compute, awaiting, after], input));
        // More than each wait has itself.
        const body = { name, id: at, data: { of: at, text: 'x'.repeat(10_000) } };
        const answers = { status: 202, body: { data: { id: at, resumed: 1, started: 1, complete: true } } };
        return { at, method: 'POST', path: '/api/v1/events', body, headers: inA, answers };
      }
      if (kind === 'approval') {
        const runId = await start(client, [compute, { id: 'ask', type: 'approval', message: at }, after], at);
        await untilWaiting(runId);
        const { approvals } = (await client.get('/api/v1/approvals?limit=100')).body.data;
        const { id } = approvals.find(({ message }: { message: string }) => message === at);
        const answers = { status: at === 'approval.answered' ? 409 : 200 };
        const path = `/api/v1/approvals/${id}/respond`;
        return { at, method: 'POST', path, body: { action: 'approve', comment: at }, headers: inA, answers };
      }
      const id = await makeFlow(product, client, [compute, after]);
      const path = `/api/v1/workflows/${id}/batch`;
      const items = [{ input: 1 }, { input: 2 }, { input: 3 }];
      if (at === 'batch.before-commit' || at === 'batch.committed') {
        const answers = { status: 202, body: { data: { total: 3 } } };
        return { at, method: 'POST', path, body: { items, name: at }, headers, answers };
      }
      return cancelOf(client, id, at);
    }),
  );
}

/** A request that cancels a batch whose runs are delayed. */
async function cancelOf(client: ApiClient, workflowId: string, at: string): Promise<Request> {
  const items = [1, 2, 3].map((input) => ({ input, delay: 3_600 }));
  const { body } = await client.post(`/api/v1/workflows/${workflowId}/batch`, { items, name: at }, inA);
  const path = `/api/v1/batches/${body.data.batchId}/cancel`;
  const answers = { status: 200, body: { data: { status: 'cancelled', counts: { total: 3, cancelled: 3 } } } };
  return { at, method: 'POST', path, body: {}, headers: inA, answers };
}

/** A worker may end a cancelled batch before the request that cancelled it does: then another one is cancelled. */
async function killed(doomed: ApiClient, client: ApiClient, request: Request, workflowId: string): Promise<Request> {
  const { at, method, path, body, headers } = request;
  const answer = await doomed.request(method, path, body, headers).catch(() => undefined);
  if (!answer) return request;
  expect({ at, status: answer.status }).toEqual({ at: 'batch.ending', status: 200 });
  await rowsOf('update run_batch set name = null where name = $1', at);
  return killed(doomed, client, await cancelOf(client, workflowId, at), workflowId);
}

/** A round of all that workers do by themselves. */
async function feed(client: ApiClient, live: ApiClient, flows: Flows, round: number): Promise<void> {
  const asking = { id: 'ask', type: 'approval', message: 'fed' };
  const url = `http://127.0.0.1:${server.port}/`;
  await Promise.all([
    start(client, [compute, { ...asking, approvers: [`r${round}@example.com`] }, after], round),
    start(client, [compute, { ...asking, timeout: 1, onTimeout: 'reject' }, after], round),
    start(client, [compute, { id: 'nap', type: 'wait', for: 1 }, after], round),
    start(live, [compute, { id: 'post', type: 'http', method: 'POST', url }, after], round),
    client.post('/api/v1/events', { name: 'fed', data: { round }, id: `fed-${round}` }),
    client.post(`/api/v1/workflows/${flows.batched}/batch`, { items: [{ input: 1 }, { input: 2 }] }, inA),
  ]);
}

interface Flows {
  /** Started by what `feed` sends. */
  fed: string;
  /** Started by the ends of runs. */
  ended: string;
  batched: string;
}

test('whatever dies while runs wait, are answered, send requests and are started together: nothing is lost, and nothing happens twice', async () => {
  const [calm, first] = await Promise.all([product.start(['api']), product.start(worker)]);
  const [client, live] = [apiClient(calm.api, tenant.testKey), apiClient(calm.api, tenant.liveKey)];
  const starting = [
    ...inRequests.map((FAIL_POINT) => product.start(['api'], { FAIL_POINT })),
    ...inWork.slice(1).map(() => product.start(worker)),
  ];
  const requests = await prepare(client);
  const flows: Flows = {
    fed: await triggered(client, 'fed'),
    ended: await triggered(client, 'batch.completed'),
    batched: await makeFlow(product, client, [compute, after]),
  };
  const started = await Promise.all(starting);
  const apis = started.slice(0, inRequests.length);
  const workers = [first, ...started.slice(inRequests.length)];

  const cutOff: Request[] = [];
  for (const [index, one] of requests.entries()) {
    const doomed = apiClient(apis[index]!.api, tenant.testKey);
    cutOff.push(await killed(doomed, client, one, flows.batched));
    await apis[index]!.ended;
  }
  await Promise.all(workers.map((one, index) => one.arm(inWork[index]!)));
  const dead = new Set<ProductProcess>();
  for (const one of workers) void one.ended.then(() => dead.add(one));
  let rounds = 0;
  await until(
    'every worker has died',
    async () => {
      if (dead.size < workers.length) await feed(client, live, flows, rounds++);
      return dead.size === workers.length;
    },
    120_000,
  );
  await endGrace(product);
  const { api } = await product.start(['api', ...worker]);
  const now = apiClient(api, tenant.testKey);
  await repeat(now, cutOff);
  await rests(now);
  await expectSteps();
  await expectEvents(flows, rounds);
  await expectApprovals(rounds);
  await expectRequests();
  await expectBatches();
});

/** Callers whose connection broke send their requests once more. */
async function repeat(client: ApiClient, requests: readonly Request[]): Promise<void> {
  for (const { at, method, path, body, headers, answers } of requests) {
    const { status, body: answered } = await client.request(method, path, body, headers);
    expect({ at, status, body: answered }).toMatchObject({ at, ...answers });
  }
}

const waitsForAnother = `r.status = 'running' and r.input::text = '"another"'`;

/** Until nothing is left to do but to answer those whom workers asked, and then until nothing is left at all. */
async function rests(client: ApiClient): Promise<void> {
  const mailed = `from approval a join approval_link l on l.approval_id = a.id where a.status = 'pending'`;
  const open = () =>
    rowsOf(`
      select to_jsonb(r) as open from run r
       where finished_at is null and not (${waitsForAnother})
         and not exists (select ${mailed} and l.mailed_at is not null and a.run_id = r.id)
      union all select to_jsonb(o) from outbox o where kind <> 'schedule.sync'
      union all select to_jsonb(e) from workflow_event e where not is_complete
      union all select to_jsonb(s) from event_start s
      union all select to_jsonb(b) from run_batch b where completed_at is null`);
  const isOver = (what: string) =>
    until(what, async () => (await open()).length === 0, 90_000).catch(async (error: Error) => {
      throw new Error([error.message, ...(await open()).slice(0, 5).map((row) => JSON.stringify(row))].join('\n'));
    });
  await isOver('only those wait who are asked');
  for (const { id } of await rowsOf(`select a.id ${mailed}`)) {
    const { status } = await client.post(`/api/v1/approvals/${id}/respond`, { action: 'approve' });
    expect(status).toBe(200);
  }
  await isOver('everything is over');
  expect(
    await rowsOf(
      `select id from run_wait where state = 'open' and run_id not in (select r.id from run r where ${waitsForAnother})`,
    ),
  ).toEqual([]);
}

/** Each step is executed once, but requests whose answers were lost are looked at again. */
async function expectSteps(): Promise<void> {
  expect(await rowsOf(`select step_id, attempts from run_step where attempts > 1 and step_id <> 'post'`)).toEqual([]);
  const unfinished = `
    select r.error, s.path, s.status from run r join run_step s on s.run_id = r.id
     where not (${waitsForAnother}) and s.status <> 'completed' and s.step_id <> 'post'`;
  expect(await rowsOf(unfinished)).toEqual([]);
}

/** Each event has resumed the run that matches and no other, and has started one run. */
async function expectEvents(flows: Flows, rounds: number): Promise<void> {
  const events = inRequests.filter((at) => at.startsWith('event.'));
  const resumed = `
    select s.output -> 'data' ->> 'of' as of, r.input #>> '{}' as input,
           length(s.output -> 'data' ->> 'text') as length from run r join run_step s on s.run_id = r.id
     where s.step_id = 'wait' and s.status = 'completed' order by 1`;
  expect(await rowsOf(resumed)).toEqual([...events].sort().map((at) => ({ of: at, input: at, length: 10_000 })));
  expect(await rowsOf(`select from run r where ${waitsForAnother}`)).toHaveLength(events.length);
  const perEvent = `
    select count(*)::int as runs, count(distinct input ->> 'id')::int as events from run
     where automation_id = $1 and status = 'completed'`;
  expect(await rowsOf(perEvent, flows.fed)).toEqual([{ runs: rounds, events: rounds }]);
  const [batches] = await rowsOf('select count(*)::int as count from run_batch');
  expect(await rowsOf(perEvent, flows.ended)).toEqual([{ runs: batches.count, events: batches.count }]);
}

/** Each step has asked once, each approver has one mail, and each decision is in the run. */
async function expectApprovals(rounds: number): Promise<void> {
  const answers = `
    select a.message, a.status, (a.response ->> 'action') = (s.output ->> 'action') as same, count(*)::int from run_step s
      left join approval a on a.run_id = s.run_id and a.path = s.path where s.step_id = 'ask' group by 1, 2, 3 order by 1, 2`;
  expect(await rowsOf(answers)).toEqual([
    { message: 'approval.answered', status: 'answered', same: true, count: 1 },
    { message: 'approval.before-commit', status: 'answered', same: true, count: 1 },
    { message: 'fed', status: 'answered', same: true, count: rounds },
    { message: 'fed', status: 'expired', same: true, count: rounds },
  ]);
  const sent = await Promise.all(
    readdirSync(mails)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => simpleParser(readFileSync(join(mails, name)))),
  );
  const first = sent.filter(({ subject }) => !subject?.startsWith('Reminder'));
  const addresses = first.map(({ to }) => [to].flat()[0]?.text);
  expect(addresses.sort()).toEqual(Array.from({ length: rounds }, (_, round) => `r${round}@example.com`).sort());
}

/** No request was sent twice; whose answer was lost says so. */
async function expectRequests(): Promise<void> {
  const keys = received.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  const requests = await rowsOf(
    `select run_id || '.post' as key, status, error ->> 'code' as code from run_step where step_id = 'post'`,
  );
  const lost = requests.filter(({ status }) => status !== 'completed');
  expect(new Set(lost.map(({ code }) => code))).toEqual(new Set(['outcome_unknown']));
  // One died before it sent, and one after it was answered.
  const arrived = lost.filter(({ key }) => keys.includes(key)).length;
  expect([arrived, lost.length - arrived].map((count) => count > 0)).toEqual([true, true]);
  for (const { key, status } of requests) if (status === 'completed') expect(keys).toContain(key);
}

/** Each batch was accepted once, and ended once with all of its runs. */
async function expectBatches(): Promise<void> {
  const ended = `
    select b.name, b.status, b.total, count(r.id)::int as runs, count(*) filter (where r.status = b.status)::int as ended
      from run_batch b join run r on r.batch_id = b.id where b.name is not null group by b.id order by b.name`;
  const batches = inRequests.filter((at) => at.startsWith('batch.')).sort();
  const statusOf = (at: string) =>
    at === 'batch.before-commit' || at === 'batch.committed' ? 'completed' : 'cancelled';
  expect(await rowsOf(ended)).toEqual(
    batches.map((name) => ({ name, status: statusOf(name), total: 3, runs: 3, ended: 3 })),
  );
}
