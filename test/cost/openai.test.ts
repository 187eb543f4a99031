import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { longText, maxMembers, worstValues } from './worst-bodies.ts';

// Bodies of a megabyte: far more than it takes alone, as others may use the machine too.
jest.setTimeout(300_000);

let product: MeasuredProduct;
beforeAll(async () => {
  product = await startMeasured();
});
afterAll(() => product.close());

const nearlyAll = 1_000_000;
const times = <One>(count: number, one: One): One[] => Array.from({ length: count }, () => one);
const chat = (more: object) => ({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }], ...more });
const tool = (parameters: unknown, name = 'a') => ({ type: 'function', function: { name, parameters } });
const call = (id: string) => ({ id, type: 'function', function: { name: 'a', arguments: '{}' } });
const unknownId = `call_${'0'.repeat(32)}_0`;

/** What the document says of no operation: these doors are in no document of ours. */
const bodies: Record<string, Record<string, object>> = {
  '/openai/v1/chat/completions': {
    'a long message': chat({ messages: [{ role: 'user', content: longText(900_000) }] }),
    'as many messages as there may be': chat({ messages: times(2_000, { role: 'user', content: 'a'.repeat(400) }) }),
    'as many wrong messages': chat({ messages: times(2_000, { role: 'user', content: times(10, { type: 'b' }) }) }),
    'too many messages': chat({ messages: times(60_000, {}) }),
    'as many parts as there may be': chat({
      messages: times(300, { role: 'user', content: times(100, { type: 'text', text: '' }) }),
    }),
    'many calls of nobody': chat({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: times(128, call(unknownId)) },
        ...times(128, { role: 'tool', tool_call_id: unknownId, content: 'a' }),
        { role: 'user', content: 'Hi' },
      ],
    }),
    'many unknown members': chat(JSON.parse(maxMembers(nearlyAll / 2))),
    'large tools': chat({
      tools: times(128, tool(JSON.parse(maxMembers(7_000)))).map((one, n) => ({
        ...one,
        function: { ...one.function, name: `a${n}` },
      })),
    }),
    'a wide schema of the answer': chat({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: JSON.parse(maxMembers(nearlyAll / 2)) },
      },
    }),
    'much metadata': chat({ metadata: JSON.parse(maxMembers(nearlyAll / 2)) }),
    'a workflow with a long name': chat({ model: `workflow:${'a-'.repeat(95)}` }),
  },
  '/openai/v1/responses': {
    'a long input': { model: 'gpt-4o', input: longText(900_000) },
    'as many items as there may be': {
      model: 'gpt-4o',
      input: times(2_000, { role: 'user', content: 'a'.repeat(400) }),
    },
    'as many wrong items': {
      model: 'gpt-4o',
      input: times(2_000, { role: 'user', content: times(10, { type: 'b' }) }),
    },
    'items of no type': { model: 'gpt-4o', input: times(2_000, {}) },
    'many calls of nobody': {
      model: 'gpt-4o',
      input: [
        { role: 'user', content: 'Hi' },
        ...times(900, { type: 'function_call', call_id: unknownId, name: 'a', arguments: '{}' }),
        ...times(900, { type: 'function_call_output', call_id: unknownId, output: 'a' }),
      ],
    },
    'long instructions': { model: 'gpt-4o', input: 'Hi', instructions: longText(900_000), background: true },
  },
  '/openai/v1/images/generations': { 'a long prompt': { prompt: longText(900_000) } },
  '/openai/v1/audio/speech': { 'a long text': { model: 'tts-1', voice: 'alloy', input: longText(900_000) } },
};

const probe = (door: string, name: string, body: string): Probe => ({
  input: { door: `POST ${door}`, name },
  send: () =>
    exchange(product.process.api, {
      method: 'POST',
      path: door,
      body,
      headers: { authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' },
    }),
});

test('what programs that speak OpenAI send is as cheap as the table says', async () => {
  const asked = chat({ messages: [{ role: 'user', content: 'sandbox:tool=a' }], tools: [tool({})] });
  const { choices } = (await product.api.post('/openai/v1/chat/completions', asked)).body;
  const made = choices[0].message.tool_calls;
  const executed = [
    { role: 'assistant', tool_calls: made },
    { role: 'tool', tool_call_id: made[0].id, content: 'a' },
  ];
  bodies['/openai/v1/chat/completions']!['as many answers with calls as there may be'] = chat({
    messages: [{ role: 'user', content: 'Hi' }, ...times(100, executed).flat()],
  });
  for (const [door, ofDoor] of Object.entries(bodies)) {
    // What is compiled at the first request is no cost of the next ones.
    await probe(door, 'the first', JSON.stringify(Object.values(ofDoor)[0])).send();
    await product.walk.sendAll([
      ...Object.entries(ofDoor).map(([name, body]) => probe(door, name, JSON.stringify(body))),
      ...Object.entries(worstValues).map(([name, textOf]) => probe(door, `${name} as the body`, textOf(nearlyAll))),
    ]);
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});
