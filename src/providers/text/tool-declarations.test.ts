import { expect, test } from '@jest/globals';
import type { ChatMessage } from './chat-ports.ts';
import { argumentsSchema, offeredTools } from './tool-declarations.ts';

const schemaOf = (inputSchema: Record<string, unknown>) =>
  argumentsSchema({ name: 'a', description: 'b', inputSchema });
const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['nothing', {}, { type: 'object', properties: {} }],
  ['an object', point, point],
  ['a dialect', { $schema: 'https://json-schema.org/draft-07/schema#', $id: 'x', ...point }, point],
  ['alternatives', { ...point, anyOf: [{ required: ['x'] }], not: {}, oneOf: [], allOf: [] }, point],
  ['a definition', { $ref: '#/$defs/point', $defs: { point } }, { $defs: { point }, ...point }],
  [
    'an older definition',
    { $ref: '#/definitions/a', definitions: { a: point } },
    { definitions: { a: point }, ...point },
  ],
  ['a reference to nowhere', { $ref: '#/$defs/toString', $defs: {} }, { $defs: {}, type: 'object', properties: {} }],
  ['another type', { type: 'string', properties: [1] }, { type: 'object', properties: {} }],
])('the schema of arguments is as all providers take it: %s', (_, given, expected) => {
  expect(schemaOf(given)).toEqual(expected);
});

test('tools that were called are declared when none may be called any more', () => {
  const results = ['a', 'b', 'a'].map((name) => ({ callId: name, name, text: '', isError: false }));
  const messages: ChatMessage[] = [
    { role: 'user', text: 'x' },
    { role: 'model', content: {} },
    { role: 'tools', results },
  ];
  const { tools, mayCall } = offeredTools({ messages });
  expect([tools.map(({ name }) => name), mayCall]).toEqual([['a', 'b'], false]);
  expect(offeredTools({ messages: messages.slice(0, 1) })).toEqual({ tools: [], mayCall: false });
});
