import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { processorMs } from '../../../test/processor-time.ts';
import type { JsonSchema } from '../ports.ts';
import { instanceOf } from './instance.ts';

const ajv = new Ajv2020({ strict: false, logger: false });
// @ts-expect-error the package's types name the function as a namespace
addFormats(ajv);

const said = '[sandbox] Read this invoice, please.';

const schemas: [string, JsonSchema][] = [
  ['anything', {}],
  ['a text', { type: 'string' }],
  ['a short text', { type: 'string', maxLength: 5 }],
  ['a short text of wide characters', { type: 'string', minLength: 2, maxLength: 3 }],
  ['a long text', { type: 'string', minLength: 500 }],
  ...['date-time', 'date', 'time', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid', 'duration', 'regex'].map(
    (format): [string, JsonSchema] => [format, { type: 'string', format }],
  ),
  ['a code', { type: 'string', pattern: '^[A-Z]{3}-\\d{3}$' }],
  ['a zip code', { type: 'string', pattern: '^\\d{5}$' }],
  ['an integer', { type: 'integer' }],
  ['a positive number', { type: 'number', exclusiveMinimum: 0 }],
  ['a number below zero', { type: 'number', exclusiveMaximum: 0, minimum: -1 }],
  ['a small range', { type: 'number', minimum: 0.1, maximum: 0.2 }],
  ['a multiple', { type: 'integer', minimum: 7, multipleOf: 5 }],
  ['a year', { type: 'integer', minimum: 1900, maximum: 2100 }],
  ['truth', { type: 'boolean' }],
  ['nothing', { type: 'null' }],
  ['perhaps a text', { type: ['string', 'null'] }],
  ['a constant', { const: { a: [1] } }],
  ['one of several', { enum: ['x', 'y'] }],
  ['an example', { type: 'string', pattern: '^ZZ9 plural$', examples: ['ZZ9 plural'] }],
  ['no type, but properties', { properties: { a: { type: 'integer' } }, required: ['a'] }],
  ['an object', { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'] }],
  ['required and not described', { type: 'object', required: ['a', 'b'] }],
  ['any names', { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 3 }],
  ['a closed object', { type: 'object', properties: { a: {} }, additionalProperties: false }],
  ['a list', { type: 'array', items: { type: 'integer' }, minItems: 3 }],
  ['a list of different texts', { type: 'array', items: { type: 'string' }, minItems: 3, uniqueItems: true }],
  ['a list of different values', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true }],
  [
    'a list of different numbers',
    { type: 'array', items: { type: 'number', minimum: 2 }, minItems: 4, uniqueItems: true },
  ],
  ['a list of nothing', { type: 'array', maxItems: 0 }],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false }],
  ['a choice', { anyOf: [{ type: 'object', required: ['a'] }, { type: 'null' }] }],
  ['one choice of two', { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'number' }] }],
  [
    'a conjunction',
    {
      allOf: [
        { type: 'object', required: ['a'] },
        { properties: { a: { const: 1 } }, required: ['b'] },
      ],
    },
  ],
  [
    'definitions',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/short' }, b: { $ref: '#/definitions/a~1b' } },
      required: ['a', 'b'],
      $defs: { short: { type: 'string', maxLength: 4 } },
      definitions: { 'a/b': { type: 'integer', minimum: 9 } },
    },
  ],
  [
    'a tree',
    {
      $defs: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
          required: ['name', 'children'],
        },
      },
      $ref: '#/$defs/node',
    },
  ],
  [
    'a chain',
    { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, required: ['next'] },
  ],
  [
    'an awkward name',
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}'),
  ],
];

describe('an instance of a schema', () => {
  test.each(schemas)('%s', (_, schema) => {
    const value = instanceOf(schema, said);
    const accepts = ajv.compile(schema);
    expect([accepts(value), accepts.errors]).toEqual([true, null]);
    expect(instanceOf(schema, said)).toEqual(value);
    expect(JSON.parse(JSON.stringify(value))).toEqual(value);
  });

  test('says what it was given where the schema leaves it open', () => {
    expect(instanceOf({ type: 'object', properties: { summary: { type: 'string' } } }, said)).toEqual({
      summary: said,
    });
  });

  test.each([
    ['a schema that demands itself', { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
    ['references in a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['a reference to nowhere', { $ref: '#/$defs/none' }],
    ['a pattern that is none', { type: 'string', pattern: '(' }],
    ['a reference that is none', { $ref: '#/%zz/~' }],
    ['a text of a trillion characters', { type: 'string', minLength: 1e12 }],
    ['a billion properties', { type: 'object', minProperties: 1e9 }],
    ['lists of lists of lists', { type: 'array', minItems: 1000, items: { $ref: '#' } }],
    [
      'two of itself, each with two of itself',
      { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] },
    ],
    ['a million items', { type: 'array', items: { type: 'integer' }, minItems: 1_000_000 }],
    ['a pattern that takes long', { type: 'string', pattern: '^(([a-z]+)+)+!$' }],
    ['no schema at all', { type: 7, properties: 'x', required: 3, anyOf: 'y' } as JsonSchema],
  ])('comes soon for %s', (_, schema) => {
    expect(processorMs(() => instanceOf(schema, said), 500)).toBeLessThan(500);
  });
});
