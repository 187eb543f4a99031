import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { anthropicError } from '../../../test/fakes/anthropic.ts';
import { connect, liveAdapters } from '../../../test/fakes/live-adapters.ts';
import type { FakeProvider, Said } from '../../../test/fakes/wire-server.ts';
import { openBoundedWork } from '../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { sandboxChatModel } from '../sandbox/chat-model.ts';
import type { ChatAnswer, ChatMessage, ChatModel, ChatRequest } from './chat-ports.ts';

/** The guarantees for a caller, with any provider. */
interface Subject {
  name: string;
  asked: Pick<ChatRequest, 'provider' | 'model'>;
  open(): Promise<{ model: ChatModel; fake?: FakeProvider }>;
}

const boundedWork = openBoundedWork();
const sandboxChat = sandboxChatModel(boundedWork);
afterAll(() => boundedWork.close());

const subjects: Subject[] = [
  {
    name: 'sandbox',
    asked: { provider: 'GOOGLE', model: 'gemini-2.0-flash' },
    open: async () => ({ model: sandboxChat }),
  },
  ...liveAdapters.map((adapter) => ({
    name: adapter.provider.toLowerCase(),
    asked: { provider: adapter.provider, model: adapter.model },
    async open() {
      const fake = await adapter.start();
      return { model: connect(adapter, fake), fake };
    },
  })),
];

const tools = ['memory_read_graph', 'notion_notion-fetch'].map((name) => ({
  name,
  description: `Calls ${name}.`,
  inputSchema: { type: 'object', properties: { depth: { type: 'integer' } }, additionalProperties: false },
}));
const user = (text: string): ChatMessage => ({ role: 'user', text });

/** As a caller keeps it between two calls. */
const kept = (content: unknown): ChatMessage => ({ role: 'model', content: JSON.parse(JSON.stringify(content)) });
const resultsOf = ({ calls }: ChatAnswer, text = 'three nodes', isError = false): ChatMessage => ({
  role: 'tools',
  results: calls.map(({ id, name }) => ({ callId: id, name, text, isError })),
});

describe.each(subjects)('$name', ({ asked, open }) => {
  let model: ChatModel;
  let fake: FakeProvider | undefined;
  beforeAll(async () => {
    ({ model, fake } = await open());
  });
  beforeEach(() => fake?.reset());
  afterAll(() => fake?.close());

  async function reply(more: Partial<ChatRequest> & Pick<ChatRequest, 'messages'>, isStream = false, attempt = 1) {
    const deltas: string[] = [];
    const thoughts: string[] = [];
    const listeners = {
      onDelta: (text: string) => deltas.push(text),
      onThought: (text: string) => thoughts.push(text),
    };
    const call = { tenantKey: tenantKeyOf('org'), attempt, signal: new AbortController().signal };
    const answer = await model.reply({ ...asked, ...more }, { ...call, ...(isStream && listeners) });
    return { answer, deltas, thoughts };
  }
  const script = (...said: Said[]) => fake?.next(...said.map((say) => ({ say })));
  const callOf = (n: number, depth: number) => ({ name: tools[n]!.name, args: { depth } });
  const asking = 'Look. sandbox:tool=memory_read_graph {"depth":2} sandbox:tool=notion_notion-fetch {"depth":3}';

  test.each([false, true])('answers the last of a conversation, and counts tokens; streamed: %s', async (isStream) => {
    const messages: ChatMessage[] = [user('Hello'), { role: 'assistant', text: 'Yes?' }, user('What is a workflow?')];
    const { answer, deltas } = await reply(
      { messages, system: 'Be brief.', temperature: 0.5, maxTokens: 500 },
      isStream,
    );
    expect(answer).toMatchObject({ text: expect.stringContaining('What is a workflow?'), calls: [] });
    for (const count of [answer.inputTokens, answer.outputTokens]) {
      expect(Number.isSafeInteger(count) && count > 0).toBe(true);
    }
    expect(deltas.join('')).toBe(isStream ? answer.text : '');
    expect(deltas.length > 1).toBe(isStream);
  });

  test.each<[string, ChatMessage[]]>([
    ['two users in a row', [user('One.'), user('Two.')]],
    ['an assistant that begins', [{ role: 'assistant', text: 'Welcome.' }, user('Two.')]],
    [
      'assistants in a row',
      [user('0'), { role: 'assistant', text: 'a' }, { role: 'assistant', text: 'b' }, user('Two.')],
    ],
  ])('takes any order: %s', async (_, messages) => {
    expect((await reply({ messages })).answer.text).toContain('Two.');
  });

  test('hands over every character whole, in parts too', async () => {
    const text = 'Zwölf Boxkämpfer 🥊 \u202e "quoted" \\ back\n'.repeat(400);
    const { answer, deltas } = await reply({ messages: [user(text)] }, true);
    expect(answer.text).toContain(text);
    expect(deltas.join('')).toBe(answer.text);
    expect(deltas).not.toContain('');
  });

  test.each([false, true])('calls tools round after round; streamed: %s', async (isStream) => {
    script({ calls: [callOf(0, 2)], thinkingTokens: 4 }, { calls: [callOf(1, 3)] });
    const messages = [user(asking)];
    const first = (await reply({ messages, tools }, isStream)).answer;
    expect(first.calls).toEqual([{ id: expect.stringMatching(/./), ...callOf(0, 2) }]);
    messages.push(kept(first.content), resultsOf(first));
    const second = (await reply({ messages, tools }, isStream)).answer;
    expect(second.calls).toMatchObject([callOf(1, 3)]);
    messages.push(kept(second.content), resultsOf(second, 'no such page', true));
    const { answer, deltas } = await reply({ messages, tools }, isStream);
    expect(answer).toMatchObject({ calls: [], text: expect.stringContaining('no such page') });
    expect(deltas.join('')).toBe(isStream ? answer.text : '');
  });

  test('answers in words when it may not call, even after calls', async () => {
    script({ calls: [callOf(0, 2)] });
    const messages = [user(asking)];
    const first = (await reply({ messages, tools })).answer;
    messages.push(kept(first.content), resultsOf(first));
    // Calls of a model without permission are ignored.
    script({ text: 'Three.', calls: [callOf(1, 3)] });
    const { answer, deltas } = await reply({ messages }, true);
    expect(answer.calls).toEqual([]);
    expect(answer.text).toMatch(/Three\.|three nodes/);
    expect(deltas.join('')).toBe(answer.text);
  });

  test('calls nothing in a conversation without tools', async () => {
    const { answer, deltas, thoughts } = await reply({ messages: [user(asking)] }, true);
    expect([answer.calls, thoughts]).toEqual([[], []]);
    expect(deltas.join('')).toBe(answer.text);
  });

  test('fails with a failure that may be tried again, and with one that is final', async () => {
    fake?.next({ fail: anthropicError(529, 'overloaded_error', 'Overloaded') }, { fail: { status: 400, body: {} } });
    const fail = (text: string) => reply({ messages: [user(text)] }, true).catch((error) => error);
    const busy = await fail('sandbox:overloaded');
    expect(busy).toBeInstanceOf(ProviderFailure);
    expect(busy).toMatchObject({ kind: 'overloaded', retryable: true });
    const final = await fail('sandbox:fail');
    expect(final).toBeInstanceOf(ProviderFailure);
    expect(final.retryable).toBe(false);
  });

  test('ends with the signal, and for its reason', async () => {
    fake?.next('stall');
    const controller = new AbortController();
    const reason = new Error('The client has gone.');
    const call = { tenantKey: tenantKeyOf('org'), attempt: 1, signal: controller.signal };
    // The sandbox passes on its first part after half of its time.
    const onDelta = () => controller.abort(reason);
    const waiting = model.reply({ ...asked, messages: [user('sandbox:slow=0.2 Hello')] }, { ...call, onDelta });
    await expect(waiting).rejects.toBe(reason);
    const late = model.reply({ ...asked, messages: [user('Hello')] }, call);
    await expect(late).rejects.toBe(reason);
    expect(fake?.journal ?? []).toHaveLength(fake ? 1 : 0);
  });
});

describe('the sandbox', () => {
  const call = (attempt = 1) => ({ tenantKey: tenantKeyOf('org'), attempt, signal: new AbortController().signal });
  const ask = (messages: ChatMessage[], more: Partial<ChatRequest> = {}, attempt = 1) =>
    sandboxChat.reply({ provider: 'GOOGLE', model: 'gemini-2.0-flash', messages, ...more }, call(attempt));

  test('gives equal conversations equal replies, and others others', async () => {
    const [one, same, other] = await Promise.all([
      ask([user('Hello')]),
      ask([user('Hello')]),
      ask([user('Hi'), user('Hello')]),
    ]);
    expect(one).toEqual(same);
    expect(other.text).not.toBe(one.text);
  });

  test('heeds only what the last user message says', async () => {
    const messages: ChatMessage[] = [
      user('sandbox:fail'),
      { role: 'assistant', text: 'sandbox:refuse' },
      user('Hello'),
    ];
    expect((await ask(messages, { system: 'sandbox:fail sandbox:tool=memory_read_graph', tools })).text).toContain(
      'Hello',
    );
    const asking = user('sandbox:tool=memory_read_graph');
    const first = await ask([asking], { tools });
    const after: ChatMessage[] = [
      asking,
      kept(first.content),
      resultsOf(first, 'sandbox:fail sandbox:tool=memory_read_graph'),
    ];
    const { text, calls } = await ask(after, { tools });
    expect(calls).toEqual([]);
    expect(text).toMatch(/sandbox:tool=memory_read_graph\nsandbox:fail/);
  });

  test('leaves words within arguments to the tool', async () => {
    const text = 'sandbox:tool=memory_read_graph {"q":"sandbox:fail sandbox:slow=600"}';
    expect((await ask([user(text)], { tools })).calls).toMatchObject([
      { args: { q: 'sandbox:fail sandbox:slow=600' } },
    ]);
  });

  test('calls only what is offered', async () => {
    const text = 'sandbox:tool=memory_drop sandbox:tool=notion_notion-fetch';
    expect((await ask([user(text)], { tools })).calls).toMatchObject([{ name: 'notion_notion-fetch', args: {} }]);
  });

  test('is overloaded until the third attempt', async () => {
    const attempts = [1, 2, 3].map((attempt) =>
      ask([user('sandbox:overloaded')], {}, attempt).catch(({ kind }) => kind),
    );
    expect(await Promise.all(attempts)).toEqual(['overloaded', 'overloaded', expect.objectContaining({ calls: [] })]);
  });
});
