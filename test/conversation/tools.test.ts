import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { joined, type ReplyEvent, type Sender, streamReply } from './reply-events.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const newTenant = async (): Promise<{ client: ApiClient; sender: Sender }> => {
  const { testKey: key } = await product.createTenant({ plan: 'pro' });
  return { client: apiClient(product.process.api, key), sender: { api: product.process.api, key } };
};
const chatBody = (content: string, ...mcpServers: string[]) => ({ messages: [{ role: 'user', content }], mcpServers });
const chat = (body: object, on = api, headers?: Record<string, string>) => on.post('/api/chat', body, headers);
const namesOf = (events: ReplyEvent[]) => events.map(({ name }) => name);

const entity = { name: 'Ada', entityType: 'person', observations: ['wrote programs'] };
const remember = `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [entity] })} sandbox:tool=memory_read_graph`;

describe('a message with tools', () => {
  test('calls them, one after the other, and costs one credit more', async () => {
    const { client, sender } = await newTenant();
    const { balance } = await creditsOf(client);
    const { status, body, headers } = await chat(chatBody(remember, 'memory', 'memory'), client);
    expect([status, headers.get('x-credits-used')]).toEqual([200, '2']);
    const { content, toolCalls } = body.data;
    expect(toolCalls).toEqual([
      { name: 'memory_create_entities', args: { entities: [entity] }, result: expect.stringContaining('Ada') },
      { name: 'memory_read_graph', args: {}, result: expect.stringContaining('wrote programs') },
    ]);
    expect(content).toContain(toolCalls[1].result);
    expect(await creditsOf(client)).toEqual({ balance: balance - 2, reserved: 0 });

    const key = { 'idempotency-key': 'with tools' };
    const asked = chatBody('sandbox:tool=memory_read_graph', 'memory');
    const stream = await streamReply(sender, '/api/chat', asked, key);
    const events = await stream.all();
    expect(namesOf(events).filter((name) => name !== 'delta')).toEqual(['tool_call', 'tool_result', 'reply']);
    const reply = events.at(-1)!.data;
    const [{ name, args, result }] = reply.toolCalls;
    expect(events.slice(0, 2)).toEqual([
      { name: 'tool_call', data: { index: 0, name: 'memory_read_graph', args: {} } },
      { name: 'tool_result', data: { index: 0, name: 'memory_read_graph', result, isError: false } },
    ]);
    expect([name, args, reply.creditsUsed, joined(events)]).toEqual(['memory_read_graph', {}, 2, reply.content]);
    const again = await (await streamReply(sender, '/api/chat', asked, key)).all();
    expect(again).toEqual([...events.slice(0, 2), { name: 'delta', data: { text: reply.content } }, events.at(-1)]);
    expect(await creditsOf(client)).toEqual({ balance: balance - 4, reserved: 0 });
  });

  test('that calls none, or names what is not offered, costs one credit', async () => {
    const { client } = await newTenant();
    const { balance } = await creditsOf(client);
    for (const content of ['Hello', 'sandbox:tool=sqlite_list_tables', 'sandbox:tool=nothing']) {
      const { body, headers } = await chat(chatBody(content, 'memory'), client);
      expect([headers.get('x-credits-used'), body.data.toolCalls]).toEqual(['1', undefined]);
    }
    expect(await creditsOf(client)).toEqual({ balance: balance - 3, reserved: 0 });
  });

  test('shows what failed, and goes on', async () => {
    const { client } = await newTenant();
    const missing = 'sandbox:tool=filesystem_read_text_file {"path":"/missing.txt"}';
    const stubborn = 'sandbox:tool=github_search_repositories {"query":"sandbox:fail"}';
    const { status, body, headers } = await chat(chatBody(`${missing} ${stubborn}`, 'filesystem', 'github'), client);
    expect([status, headers.get('x-credits-used'), body.data.toolCalls.length]).toEqual([200, '2', 2]);
    for (const { result } of body.data.toolCalls) expect(result).not.toBe('');
  });

  test('ends after eight rounds, with what there is', async () => {
    const { client } = await newTenant();
    const nine = Array.from({ length: 9 }, () => 'sandbox:tool=memory_read_graph').join(' ');
    const { status, body } = await chat(chatBody(nine, 'memory'), client);
    expect([status, body.data.toolCalls.length]).toEqual([200, 8]);
    expect(body.data.content).toContain(body.data.toolCalls[7].result);
  });

  test('goes on when its client hangs up while a tool is called, and the reply is kept', async () => {
    const hold = newHold(product.database);
    const slow = chatBody(`sandbox:tool=github_search_repositories {"query":"${hold.word}"}`, 'github');
    const { client, sender } = await newTenant();
    const { balance } = await creditsOf(client);
    const stream = await streamReply(sender, '/api/chat', slow, { 'idempotency-key': 'streamed' });
    const { value } = await stream.events[Symbol.asyncIterator]().next();
    expect(value.name).toBe('tool_call');
    stream.hangUp();
    const leaving = new AbortController();
    const asked = fetch(new URL('/api/chat', sender.api), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${sender.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'asked',
      },
      body: JSON.stringify(slow),
      signal: leaving.signal,
    });
    await until('both are under way', async () => (await creditsOf(client)).reserved === 4);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await hold.release();
    await until('both are charged', async () => (await creditsOf(client)).balance === balance - 4);
    const kept = await chat(slow, client, { 'idempotency-key': 'asked' });
    expect([kept.status, kept.headers.get('idempotent-replayed'), kept.body.data.toolCalls.length]).toEqual([
      200,
      'true',
      1,
    ]);
    expect(await creditsOf(client)).toEqual({ balance: balance - 4, reserved: 0 });
  });

  test('is nothing that another tenant sees', async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    await chat(chatBody(remember, 'memory'), one.client);
    const { body } = await chat(chatBody('sandbox:tool=memory_read_graph', 'memory'), other.client);
    expect(body.data.toolCalls[0].result).not.toContain('Ada');
  });
});
