import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
const start = () => product.start(['api', 'runs', 'generation']);
const client = (): ApiClient => apiClient(process.api, tenant.testKey);
beforeAll(async () => {
  product = await openProduct({ entryPoint: soonNoticed, env: secrets });
  [process, tenant] = [await start(), await product.createTenant({ plan: 'enterprise' })];
});
afterAll(() => product.close());

async function state() {
  const { balance, reserved } = (await client().get('/api/v1/credits')).body.data;
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
  await process.ended;
  process = await start();
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

test.each(['turn.committed', 'turn.started', 'turn.asked', 'turn.recorded'])(
  'killed at %s: the reply is charged once, and kept for the retry',
  async (at) => {
    const before = await state();
    await killedAt(at, `Hello, ${at}`);
    const { status, body } = await replyOf(at, `Hello, ${at}`);
    expect([status, body.data.content]).toEqual([200, expect.stringContaining(`Hello, ${at}`)]);
    expect(await state()).toEqual({ ...before, balance: before.balance - 1 });
  },
);

const create = (name: string) =>
  `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [{ name, entityType: 'test', observations: [] }] })}`;
const unknown = 'The outcome of this call is unknown.';

test.each([
  ['turn.round_recorded', 1, false],
  ['turn.tool_begun', 0, true],
  ['turn.tool_called', 1, true],
  ['turn.tool_recorded', 1, false],
])(
  'killed at %s: a tool that may not be repeated is called %i times, and the reply is charged once',
  async (at, calls, isUnknown) => {
    const before = await state();
    await killedAt(at, create(at), ['memory']);
    const { status, body } = await replyOf(at, create(at), ['memory']);
    expect([status, body.data.toolCalls.length]).toEqual([200, 1]);
    expect(body.data.toolCalls[0].result === unknown).toBe(isUnknown);
    expect(await state()).toEqual({ reserved: 0, balance: before.balance - 2, calls: before.calls + calls });
  },
);

test('killed while a tool is called that may be repeated: it is called again', async () => {
  const before = await state();
  const read = 'sandbox:tool=memory_read_graph Once more';
  await process.arm('turn.tool_called');
  const key = 'repeatable';
  await expect(say(read, ['memory'], key)).rejects.toThrow();
  await process.ended;
  process = await start();
  const { body } = await replyOf(key, read, ['memory']);
  expect(body.data.toolCalls).toEqual([
    { name: 'memory_read_graph', args: {}, result: expect.stringContaining('turn.') },
  ]);
  expect(await state()).toEqual({ reserved: 0, balance: before.balance - 2, calls: before.calls + 2 });
});
