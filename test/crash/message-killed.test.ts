import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { startFakeGoogle } from '../fakes/google.ts';
import type { FakeProvider } from '../fakes/wire-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
const roles: RoleName[] = ['api', 'runs', 'generation'];
const client = (key = tenant.testKey): ApiClient => apiClient(process.api, key);
/** The provider of live keys. */
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeGoogle();
  const google = { GOOGLE_API_KEY: provider.apiKey, GOOGLE_BASE_URL: provider.baseUrl };
  const env = { ...secrets, ...google, EGRESS_ALLOW_CIDRS: '127.0.0.1/32' };
  product = await openProduct({ entryPoint: soonNoticed, env });
  [process, tenant] = [await product.start(roles), await product.createTenant({ plan: 'enterprise' })];
});
afterAll(async () => {
  await product.close();
  await provider.close();
});

async function state(key?: string) {
  const { balance, reserved } = (await client(key).get('/api/v1/credits')).body.data;
  const { rows } = await product.database.pool.query(
    `select count(*)::int as calls from audit_log where action = 'tool.call'`,
  );
  return { balance, reserved, calls: rows[0].calls };
}

const say = (content: string, mcpServers: string[], key: string) =>
  client().post('/api/chat', { messages: [{ role: 'user', content }], mcpServers }, { 'idempotency-key': key });

/** Kills the process at a fail point of a message, and starts another one. */
async function killedAt(at: string, content: string, servers: string[] = []): Promise<void> {
  await process.arm(at);
  await expect(say(content, servers, at)).rejects.toThrow();
  process = await successorOf(process, product, roles);
}

/** The reply that is kept, once there is one. */
async function replyOf(at: string, content: string, servers: string[] = []) {
  const answer = await until('the reply is there', async () => {
    const one = await say(content, servers, at);
    // 503: what the process before held for its tools may not be free at once.
    return one.status !== 409 && one;
  });
  expect(answer.headers.get('idempotent-replayed')).toBe('true');
  return answer;
}

// A message of a live key is asked about by the process that takes it.
test.each([
  ['message.committed', 0],
  ['message.asked', 1],
  ['message.recorded', 1],
])('killed at %s, with a live key: one reply, one charge', async (at, asked) => {
  const { liveKey } = tenant;
  const newest = async () => {
    const { rows } = await product.database.pool.query(
      'select asked_until is not null as "isFirst" from conversation_message order by created_at desc limit 1',
    );
    return rows[0].isFirst;
  };
  await until('this process asks by itself', async () => {
    await client(liveKey).post('/api/chat', { messages: [{ role: 'user', content: 'Hello' }] });
    return newest();
  });
  provider.reset();
  const before = await state(liveKey);
  const sayLive = () =>
    client(liveKey).post(
      '/api/chat',
      { messages: [{ role: 'user', content: at }] },
      { 'idempotency-key': `live ${at}` },
    );
  await process.arm(at);
  await expect(sayLive()).rejects.toThrow();
  await process.ended;
  expect(provider.journal).toHaveLength(asked);
  expect(await newest()).toBe(true);
  process = await product.start(roles);
  const { status, headers } = await until('the reply is there', async () => {
    const one = await sayLive();
    return one.status !== 409 && one;
  });
  expect([status, headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  // Only what was asked and not recorded is asked again.
  expect(provider.journal).toHaveLength(at === 'message.asked' ? 2 : 1);
  expect(await state(liveKey)).toEqual({ ...before, balance: before.balance - 1 });
});

const create = (name: string) =>
  `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [{ name, entityType: 'test', observations: [] }] })}`;
const unknown = 'The outcome of this call is unknown.';

test.each([
  ['message.round_recorded', false],
  ['message.tool_begun', true],
  ['message.tool_called', true],
  ['message.tool_recorded', false],
])(
  'killed at %s: a tool that may not be repeated is not called again, its call is audited, and the reply is charged once',
  async (at, isUnknown) => {
    const before = await state();
    await killedAt(at, create(at), ['memory']);
    const { status, body } = await replyOf(at, create(at), ['memory']);
    expect([status, body.data.toolCalls.length]).toEqual([200, 1]);
    expect(body.data.toolCalls[0].result === unknown).toBe(isUnknown);
    expect(await state()).toEqual({ reserved: 0, balance: before.balance - 2, calls: before.calls + 1 });
  },
);

test('killed while a tool is called that may be repeated: it is called again', async () => {
  const before = await state();
  const read = 'sandbox:tool=memory_read_graph Once more';
  await process.arm('message.tool_called');
  const key = 'repeatable';
  await expect(say(read, ['memory'], key)).rejects.toThrow();
  process = await successorOf(process, product, roles);
  const { body } = await replyOf(key, read, ['memory']);
  expect(body.data.toolCalls).toEqual([
    { name: 'memory_read_graph', args: {}, result: expect.stringContaining('message.') },
  ]);
  expect(await state()).toEqual({ reserved: 0, balance: before.balance - 2, calls: before.calls + 1 });
  const { rows } = await product.database.pool.query(
    `select facts from audit_log where action = 'tool.call' order by recorded_at desc limit 1`,
  );
  expect(rows[0].facts).toMatchObject({ isError: false, durationMs: expect.any(Number), attempt: 2 });
});

test('killed while it answers in the background: the response goes on in another process, is read by its id and charged once', async () => {
  const before = await state();
  const asked = { model: 'gpt-4o', input: 'sandbox:slow=5 Say it later.', background: true };
  const { status, body } = await client().post('/openai/v1/responses', asked);
  expect([status, body.status]).toEqual([200, 'in_progress']);
  await process.kill();
  process = await product.start(roles);
  const ended = await until('the response has ended', async () => {
    const found = await client().get(`/openai/v1/responses/${body.id}`);
    return found.body.status !== 'in_progress' && found.body;
  });
  expect(ended).toMatchObject({ id: body.id, status: 'completed', error: null });
  expect(JSON.stringify(ended.output)).toContain('Say it later.');
  expect(await state()).toEqual({ reserved: 0, balance: before.balance - 1, calls: before.calls });
});
