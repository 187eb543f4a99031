import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { endOf } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';
import { endGrace } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(400_000);

/*
 * A process for each commit boundary of steps that speak, transcribe and book, and of retries from a step within others. All
 * of them die, one process takes their place, and everything ends as though none had died.
 */

/** Processes of the API die in a retry. */
const inRequests = ['run.before-commit', 'run.committed'] as const;
/** Workers die in what they do by themselves. */
const inWork = [
  'voice.stored',
  'voice.committed',
  'voice.started',
  'voice.answered',
  'voice.speech_stored',
  'voice.recorded',
  'booking.committed',
  'booking.followed',
  'step.recorded',
  'wait.before-commit',
  'wait.opened',
] as const;

const worker: RoleName[] = ['runs', 'generation'];
const inA = { 'x-api-variant': 'A' };
/** In credits. */
const prices = { tts: 1, stt: 2 };

let product: Product;
let tenant: Tenant;
beforeAll(async () => {
  product = await openProduct({ entryPoint: soonNoticed, env: secrets });
  tenant = await product.createTenant({ plan: 'enterprise' });
});
afterAll(() => product.close());

const rowsOf = async (sql: string, ...values: unknown[]) => (await product.database.pool.query(sql, values)).rows;
const compute = (id: string, expression: string) => ({ id, type: 'transform', expression });
const say = (text: string) => ({ id: 'say', type: 'speech', payload: { text } });

interface Flows {
  /** Speaks, transcribes what it spoke, and books. */
  features: string;
  /** A run that completed, and that is retried from its second item. */
  retried: string;
}

async function execute(client: ApiClient, workflowId: string, input: unknown): Promise<string> {
  return (await client.post(`/api/v1/workflows/${workflowId}/execute`, { input, async: true }, inA)).body.data.runId;
}
const retry = (client: ApiClient, runId: string, key: string) => {
  const body = { fromStep: 'say', path: ['each', 1, 'say'] };
  return client.post(`/api/v1/runs/${runId}/retry`, body, { ...inA, 'idempotency-key': key });
};

async function prepare(client: ApiClient): Promise<Flows> {
  const { id: eventTypeId } = await sceneOf(client).offer({ reminders: [] });
  const attendee = { name: 'Grace', email: 'grace@example.com' };
  const features = await makeFlow(product, client, [
    compute('before', '1'),
    say('We meet on Monday.'),
    { id: 'hear', type: 'transcription', payload: { url: '{{steps.say.output.url}}' } },
    { id: 'book', type: 'booking', payload: { eventTypeId, start: '{{input}}', attendee } },
    compute('after', 'steps.hear.output.text'),
  ]);
  const items = [say('Number {{item}}.'), compute('size', 'size(steps.say.output.url)')];
  const each = { id: 'each', type: 'map', items: '[0, 1]', concurrency: 1, steps: items };
  const steps = [compute('before', '1'), each, compute('after', 'steps.each.output.succeeded')];
  const retried = await execute(client, await makeFlow(product, client, steps), null);
  expect((await endOf(client, retried)).status).toBe('completed');
  return { features, retried };
}

/** A round of all that workers do. @returns its runs */
async function feed(client: ApiClient, flows: Flows, round: number): Promise<string[]> {
  const runId = await execute(client, flows.features, new Date(Date.UTC(2040, 5, 13, round)).toISOString());
  const { status, body } = await retry(client, flows.retried, `round ${round}`);
  expect(status).toBe(200);
  return [runId, body.data.runId];
}

test('whatever dies while steps speak, transcribe and book, or are retried: each is charged and booked once, and nothing is stuck', async () => {
  const [calm, first] = await Promise.all([product.start(['api']), product.start(worker)]);
  const client = apiClient(calm.api, tenant.testKey);
  const before = await creditsOf(client);
  const starting = [
    ...inRequests.map((FAIL_POINT) => product.start(['api'], { FAIL_POINT })),
    ...inWork.slice(1).map(() => product.start(worker)),
  ];
  const flows = await prepare(client);
  const started = await Promise.all(starting);
  const workers = [first, ...started.slice(inRequests.length)];

  for (const [index, at] of inRequests.entries()) {
    const { api, ended } = started[index]!;
    await expect(retry(apiClient(api, tenant.testKey), flows.retried, at)).rejects.toThrow();
    await ended;
  }
  await Promise.all(workers.map((one, index) => one.arm(inWork[index]!)));
  const dead = new Set<ProductProcess>();
  for (const one of workers) void one.ended.then(() => dead.add(one));
  let rounds = 0;
  while (dead.size < workers.length) {
    const deaths = dead.size;
    const runs = await feed(client, flows, rounds++);
    await until('a worker dies of it, or it is over', async () => {
      const over = await rowsOf('select from run where id = any($1) and finished_at is not null', runs);
      return dead.size > deaths || over.length === runs.length;
    });
  }

  await endGrace(product);
  const { api } = await product.start(['api', ...worker]);
  const now = apiClient(api, tenant.testKey);
  // Callers whose connection broke send their requests once more.
  const repeated = [];
  for (const at of inRequests) {
    const { status, headers } = await retry(now, flows.retried, at);
    repeated.push([at, status, headers.get('idempotent-replayed')]);
  }
  expect(repeated).toEqual([
    ['run.before-commit', 200, null],
    ['run.committed', 200, 'true'],
  ]);
  await rests();
  await expectSteps(rounds, rounds + inRequests.length);
  const calls = { tts: rounds + 2 + rounds + inRequests.length, stt: rounds };
  expect(await rowsOf('select kind, status, count(*)::int from voice_call group by 1, 2 order by 1')).toEqual([
    { kind: 'stt', status: 'completed', count: calls.stt },
    { kind: 'tts', status: 'completed', count: calls.tts },
  ]);
  const spent = calls.tts * prices.tts + calls.stt * prices.stt;
  expect(await creditsOf(now)).toEqual({ balance: before.balance - spent, reserved: 0 });
});

/** Until nothing is left to do. */
async function rests(): Promise<void> {
  const open = () =>
    rowsOf(`
      select to_jsonb(r) as open from run r where finished_at is null
      union all select to_jsonb(v) from voice_call v where finished_at is null
      union all select to_jsonb(w) from run_wait w where state = 'open'
      union all select to_jsonb(o) from outbox o where kind <> 'schedule.sync'`);
  await until('everything is over', async () => (await open()).length === 0, 90_000).catch(async (error: Error) => {
    throw new Error([error.message, ...(await open()).slice(0, 5).map((row) => JSON.stringify(row))].join('\n'));
  });
}

/** Every run has completed; no step was executed that had ended, and each that books has one booking of its own. */
async function expectSteps(features: number, retries: number): Promise<void> {
  expect(await rowsOf(`select error from run where status <> 'completed'`)).toEqual([]);
  expect(await rowsOf('select from run where retry_of is not null')).toHaveLength(retries);
  const instant = `select path from run_step where step_id in ('before', 'size', 'after') and attempts > 1`;
  expect(await rowsOf(instant)).toEqual([]);
  const takenOver = `
    select s.path, s.attempts from run_step s join run r on r.id = s.run_id
     where r.retry_of is not null and (s.path = 'before' or s.path like 'each.0.%') and s.attempts > 0`;
  expect(await rowsOf(takenOver)).toEqual([]);
  const spoken = `select count(distinct output ->> 'url')::int as urls from run_step where step_id = 'say' and attempts > 0`;
  expect(await rowsOf(spoken)).toEqual([{ urls: features + 2 + retries }]);
  const booked = `
    select count(*)::int as bookings, count(distinct b.start_at)::int as times,
           count(*) filter (where b.status = 'confirmed' and s.output ->> 'id' = 'bkg_' || replace(b.id::text, '-', ''))::int as known
      from booking b left join run_step s on s.step_id = 'book' and s.output ->> 'id' = 'bkg_' || replace(b.id::text, '-', '')`;
  expect(await rowsOf(booked)).toEqual([{ bookings: features, times: features, known: features }]);
}
