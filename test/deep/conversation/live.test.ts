import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { messageContract } from '../../../src/temporal/contracts/conversation.ts';
import { jobWorkflowId } from '../../../src/temporal/contracts/jobs.ts';
import { createKey, revokeKey } from '../../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { joined, type Sender, streamReply } from '../../conversation/reply-events.ts';
import { googleError } from '../../fakes/google.ts';
import { type LiveAdapter, type LiveFakes, liveAdapters, startLiveFakes } from '../../fakes/live-adapters.ts';
import type { SaidCall } from '../../fakes/wire-server.ts';
import { secrets } from '../../operator.ts';
import { openProduct, type Product } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { creditsOf } from '../../studio/files.ts';
import { until } from '../../until.ts';

/**
 * Messages of live keys, with the providers' wire formats on loopback. The API is one process and the work another, so
 * that everything its reader receives goes through PostgreSQL.
 */

let product: Product;
let api: string;
let live: ApiClient;
let sender: Sender;
let fakes: LiveFakes;
const fakeOf = (provider: string) => fakes.of(provider);
const gemini = () => fakeOf('GOOGLE');

beforeAll(async () => {
  fakes = await startLiveFakes();
  product = await openProduct({ env: { ...secrets, ...fakes.env } });
  const [front] = await Promise.all([product.start(['api']), product.start(['generation', 'housekeeping'])]);
  api = front.api;
  const tenant = await product.createTenant({ plan: 'enterprise' });
  live = apiClient(api, tenant.liveKey);
  sender = { api, key: tenant.liveKey };
  for (const server of ['memory', 'filesystem']) {
    const { status } = await live.request('PUT', `/api/v1/tools/${server}`, { enabled: true });
    expect(status).toBe(200);
  }
});
beforeEach(() => fakes.reset());
afterAll(async () => {
  await product.close();
  await fakes.close();
});

const chatBody = (content: string, more: object = {}) => ({ messages: [{ role: 'user', content }], ...more });
const chat = (body: object, headers?: Record<string, string>) => live.post('/api/chat', body, headers);
const readGraph: SaidCall = { name: 'memory_read_graph', args: {} };
const withMemory = { mcpServers: ['memory'] };
const tokensOf = async () => (await live.get('/api/v1/usage')).body.data.tokens;
const namesOf = (events: { name: string }[]) => events.map(({ name }) => name);

describe.each(liveAdapters)('a message to $provider', ({ provider, model }: LiveAdapter) => {
  test('calls tools, keeps the signatures of its thoughts, and is charged and counted once', async () => {
    const [{ balance }, tokens] = [await creditsOf(live), await tokensOf()];
    fakeOf(provider).next(
      {
        say: {
          text: 'Let me look.',
          calls: [readGraph, readGraph],
          inputTokens: 10,
          outputTokens: 5,
          thinkingTokens: 1,
        },
      },
      { say: { text: 'There is nothing yet.', inputTokens: 20, outputTokens: 7 } },
    );
    const events = await (
      await streamReply(sender, '/api/chat', chatBody('What is there?', { model, ...withMemory }))
    ).all();
    const calls = ['tool_call', 'tool_result', 'tool_call', 'tool_result'];
    expect(namesOf(events).filter((name) => name !== 'delta')).toEqual(['thought', ...calls, 'reply']);
    expect(events[0]!.data).toEqual({ text: 'Let me look.' });
    const { content, toolCalls, creditsUsed } = events.at(-1)!.data;
    expect([content, toolCalls.length, creditsUsed, joined(events)]).toEqual(['There is nothing yet.', 2, 2, content]);
    // The fake refuses a history whose signatures it did not make.
    expect(fakeOf(provider).journal.map(({ worked }) => worked)).toEqual([true, true]);
    expect(await creditsOf(live)).toEqual({ balance: balance - 2, reserved: 0 });
    expect(await tokensOf()).toBe(tokens + 42);
  });

  test('is sent as it is written, from one process to another', async () => {
    fakeOf(provider).next('stall');
    const key = { 'idempotency-key': `stalled ${provider}` };
    const asked = chatBody('Tell me a long story with many words in it.', { model });
    const stream = await streamReply(sender, '/api/chat', asked, key);
    const { value } = await stream.events[Symbol.asyncIterator]().next();
    expect(value).toMatchObject({ name: 'delta', data: { text: expect.stringMatching(/./) } });
    stream.hangUp();
    await cancelNewest();
    await until('it has ended', async () => (await chat({ ...asked, stream: true }, key)).status !== 409);
  });
});

/** Cancels the newest message, as an operator of Temporal does. */
async function cancelNewest(): Promise<string> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { rows } = await product.database.pool.query(
    'select id from conversation_message order by created_at desc limit 1',
  );
  const handle = new Client({ connection }).workflow.getHandle(jobWorkflowId(messageContract, rows[0].id));
  const metadata = await handle.query<{ currentDetails: string }, []>('__temporal_workflow_metadata');
  await handle.cancel();
  await connection.close();
  return metadata.currentDetails;
}

describe.each(liveAdapters)('what $provider wrote', ({ provider, model }: LiveAdapter) => {
  const stored = async (streams: boolean) => {
    if (!streams) return (await chat(chatBody('Say it', { model, ...withMemory }))).body.data;
    const events = await (await streamReply(sender, '/api/chat', chatBody('Say it', { model, ...withMemory }))).all();
    const reply = events.at(-1)!.data;
    expect(joined(events)).toBe(reply.content);
    return reply;
  };

  test.each([false, true])(
    'with NUL and lone surrogates can be stored and sent back; streamed: %s',
    async (streams) => {
      const unclean = { ...readGraph, args: { 'n\0': 'a\0b', deep: ['\ud800', '\udc00x'] } };
      fakeOf(provider).next(
        { say: { calls: [unclean] } },
        { say: { text: 'NUL \0, half \ud83d, whole 😀 and end \ud800' } },
      );
      const { content, toolCalls } = await stored(streams);
      expect(content).toBe('NUL \ufffd, half \ufffd, whole 😀 and end \ufffd');
      expect(toolCalls[0].args).toEqual({ 'n\ufffd': 'a\ufffdb', deep: ['\ufffd', '\ufffdx'] });
      expect(/\\u(0000|d[89a-f])/.test(JSON.stringify(fakeOf(provider).journal.map(({ body }) => body)))).toBe(false);
      const history = [...chatBody('Say it').messages, { role: 'assistant', content }, ...chatBody('Again').messages];
      expect((await chat({ messages: history, model })).status).toBe(200);
    },
  );
});

test.each(['OPENAI', 'ANTHROPIC'])(
  'arguments of %s that are not JSON reach the model as a failed call',
  async (provider) => {
    const { model } = liveAdapters.find((one) => one.provider === provider)!;
    const unreadable = { ...readGraph, rawArgs: '{"a": tru' };
    fakeOf(provider).next({ say: { calls: [unreadable, readGraph] } }, { say: { text: 'I see.' } });
    // Anthropic's API gives parsed arguments, unless they are streamed.
    const stream = await streamReply(sender, '/api/chat', chatBody('Say it', { model, ...withMemory }));
    const { content, toolCalls } = (await stream.all()).at(-1)!.data;
    expect([content, toolCalls.length]).toEqual(['I see.', 1]);
    const again = JSON.stringify(fakeOf(provider).journal[1]!.body.messages);
    expect(again.includes('The arguments are not a JSON object, so the tool was not called: {')).toBe(true);
  },
);

describe('a round', () => {
  test('executes five calls; the others, and what was not offered, reach only the model', async () => {
    const unknown: SaidCall = { name: 'sqlite_query', args: {} };
    gemini().next({ say: { calls: [unknown, ...Array<SaidCall>(6).fill(readGraph)] } }, { say: { text: 'Enough.' } });
    const { body } = await chat(chatBody('Read it seven times', withMemory));
    expect([body.data.content, body.data.toolCalls.length]).toEqual(['Enough.', 4]);
    const sent = JSON.stringify(gemini().journal[1]!.body);
    expect(sent.split('Too many calls in one round.').length - 1).toBe(2);
    expect(sent).toContain('Unknown tool: sqlite_query.');
  });

  test('is the last after eight: the model is asked once more without tools', async () => {
    gemini().always({ say: { text: 'Once more.', calls: [readGraph] } });
    const { status, body, headers } = await chat(chatBody('Go on for ever', withMemory));
    expect([status, headers.get('x-credits-used'), body.data.toolCalls.length]).toEqual([200, '2', 8]);
    expect(gemini().journal).toHaveLength(9);
    expect(JSON.stringify(gemini().journal[8]!.body.toolConfig)).toContain('NONE');
  });
});

describe('a provider that fails', () => {
  const limited = (seconds: number) =>
    googleError(429, 'RESOURCE_EXHAUSTED', 'Slow down.', { headers: { 'retry-after': String(seconds) } });
  const down = { fail: googleError(503, 'UNAVAILABLE', 'Overloaded.') };

  test('for a moment is asked again, and charged once', async () => {
    const { balance } = await creditsOf(live);
    gemini().next({ fail: limited(1) }, 'hang up');
    expect((await chat(chatBody('Hello'))).status).toBe(200);
    expect(gemini().journal).toHaveLength(3);
    expect(await creditsOf(live)).toEqual({ balance: balance - 1, reserved: 0 });
  });

  test.each([
    ['four times', () => gemini().always(down), 4],
    ['and asks for a long wait', () => gemini().always({ fail: limited(31) }), 1],
    ['and refuses the content', () => gemini().always({ say: { end: 'refused' } }), 1],
  ])('%s costs nothing, tokens of its rounds apart', async (_, prepare, asked) => {
    const before = await creditsOf(live);
    prepare();
    const { status, body } = await chat(chatBody('Hello'));
    expect([status, body.success, typeof body.error]).toEqual([500, false, 'string']);
    expect(gemini().journal).toHaveLength(asked);
    expect(await creditsOf(live)).toEqual(before);
  });

  test('is asked after pauses that double, and after longer ones that it asks for', async () => {
    const pauses = () => gemini().journal.map(({ at }, index, all) => (index === 0 ? 0 : at - all[index - 1]!.at));
    gemini().always(down);
    expect((await chat(chatBody('Hello'))).status).toBe(500);
    for (const [index, atLeast] of [0, 1_000, 2_000, 4_000].entries()) {
      expect(pauses()[index]).toBeGreaterThanOrEqual(atLeast);
    }
    gemini().reset();
    gemini().next({ fail: limited(3) });
    expect((await chat(chatBody('Hello'))).status).toBe(200);
    expect(pauses()[1]).toBeGreaterThanOrEqual(3_000);
  });

  test('after tools were called costs nothing', async () => {
    const before = await creditsOf(live);
    gemini().next({ say: { calls: [readGraph] } }, { say: { end: 'refused' } });
    expect((await chat(chatBody('Hello', withMemory))).status).toBe(500);
    expect(await creditsOf(live)).toEqual(before);
  });

  test('in the middle of a text goes on where it writes the same again', async () => {
    gemini().next('cut the answer');
    const events = await (await streamReply(sender, '/api/chat', chatBody('Say this, please, in full.'))).all();
    expect(namesOf(events).at(-1)).toBe('reply');
    expect(joined(events)).toBe(events.at(-1)!.data.content);
    expect(gemini().journal).toHaveLength(2);
  });

  test('in the middle of a text and then writes another one ends the stream with an error, uncharged', async () => {
    const before = await creditsOf(live);
    gemini().next('cut the answer', { say: { text: 'Something else, and longer than what was sent before it.' } });
    const stream = await streamReply(sender, '/api/chat', chatBody('Say this, please, in full.'));
    const events = await stream.all();
    expect(namesOf(events)).toEqual([...events.slice(0, -1).map(() => 'delta'), 'error']);
    expect(events.length).toBeGreaterThan(1);
    await until('the credits are back', async () => (await creditsOf(live)).reserved === 0);
    expect(await creditsOf(live)).toEqual(before);
  });
});

test('an operator sees what a message waits for, and a cancelled one is not charged', async () => {
  const before = await creditsOf(live);
  gemini().next('silence');
  const waiting = chat(chatBody('Hello'), { 'idempotency-key': 'cancelled' });
  await until('the model is asked', async () => gemini().journal.length === 1);
  expect(await cancelNewest()).toMatch(/^Calls the model, round 1\./);
  const { status, body } = await waiting;
  expect([status, body.error]).toEqual([500, 'The message was cancelled by an operator.']);
  expect(await creditsOf(live)).toEqual(before);
});

test('one that an operator terminates fails, and is not charged', async () => {
  const before = await creditsOf(live);
  gemini().next('silence');
  const waiting = chat(chatBody('Hello'));
  await until('the model is asked', async () => gemini().journal.length === 1);
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { rows } = await product.database.pool.query(`select id from conversation_message where status = 'processing'`);
  await new Client({ connection }).workflow.getHandle(jobWorkflowId(messageContract, rows[0].id)).terminate();
  await connection.close();
  const { status, body } = await waiting;
  expect([status, body.error]).toEqual([500, 'The message was terminated by an operator.']);
  expect(await creditsOf(live)).toEqual(before);
});

test('a tool server that cannot be asked is a refusal: nothing is charged, and the Idempotency-Key is free', async () => {
  const before = await creditsOf(live);
  const settings = { url: 'http://127.0.0.1:9/mcp', secrets: { token: 'token' } };
  expect((await live.request('PUT', '/api/v1/tools/github', settings)).status).toBe(200);
  const key = { 'idempotency-key': 'no tools' };
  const asked = chatBody('Hello', { mcpServers: ['github'] });
  const { status, body, headers } = await chat(asked, key);
  const error = 'The tool server github is not available.';
  expect([status, body, headers.get('retry-after')]).toEqual([503, { success: false, error }, '10']);
  expect(await creditsOf(live)).toEqual(before);
  const again = await chat(asked, key);
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([503, null]);
  const stream = await streamReply(sender, '/api/chat', asked);
  expect([stream.status, stream.headers.get('content-type')]).toEqual([503, 'application/json']);
  stream.hangUp();
  expect(gemini().journal).toEqual([]);
  expect(await creditsOf(live)).toEqual(before);
});

test('what was said is sealed while it is kept', async () => {
  const secret = 'My secret is 0b5c1d';
  gemini().next({ say: { text: `You said: ${secret}` } });
  await chat(chatBody(secret));
  const { rows } = await product.database.pool.query('select t::text as row from conversation_message t');
  expect(rows.length).toBeGreaterThan(0);
  for (const { row } of rows) expect(row).not.toContain('0b5c1d');
  const { rows: entries } = await product.database.pool.query(
    `select 1 from conversation_entry e join conversation_message t on t.id = e.message_id where t.status <> 'processing'`,
  );
  expect(entries).toEqual([]);
});

test('a key that is revoked receives nothing more, and its message continues', async () => {
  const { organizationId } = await product.createTenant({ plan: 'enterprise' });
  const [first, second] = [
    await createKey(product.database, { organizationId, environment: 'live' }),
    await createKey(product.database, { organizationId, environment: 'live' }),
  ];
  const other = apiClient(api, second.key);
  const { balance } = await creditsOf(other);
  const { promise: isRevoked, resolve: reply } = Promise.withResolvers<void>();
  gemini().next({ after: isRevoked }, { after: isRevoked });
  const waiting = apiClient(api, first.key).post('/api/chat', chatBody('Hello'));
  const stream = await streamReply({ api, key: first.key }, '/api/chat', chatBody('Hello'));
  await until('both are asked', async () => gemini().journal.length === 2);
  await revokeKey(product.database, first.id);
  expect(await stream.all()).toEqual([]);
  expect(await waiting).toMatchObject({ status: 401, body: { success: false, error: 'Unauthorized' } });
  reply();
  await until('both are charged', async () => (await creditsOf(other)).balance === balance - 2);
});

test('a process that drains answers 503, and the reply is kept', async () => {
  const front = await product.start(['api']);
  const leaving = apiClient(front.api, sender.key);
  const { promise: hasAnswered, resolve: reply } = Promise.withResolvers<void>();
  gemini().next({ after: hasAnswered });
  const key = { 'idempotency-key': 'drained' };
  const waiting = leaving.post('/api/chat', chatBody('Hello'), key);
  await until('it is asked', async () => gemini().journal.length === 1);
  const stopped = front.stop();
  const { status, headers } = await waiting;
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  reply();
  await stopped;
  const kept = await until('the reply is there', async () => {
    const answer = await chat(chatBody('Hello'), key);
    return answer.status !== 409 && answer;
  });
  expect([kept.status, kept.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
});
