import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { processorMs } from '../../../test/processor-time.ts';
import type { JsonSchema } from '../ports.ts';
import { instanceOf } from '../sandbox/instance.ts';
import { askInWords, outputForm } from './structured-output.ts';

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'object', properties, ...more });
const text = { type: 'string' };

const rewritten: [string, JsonSchema, JsonSchema][] = [
  [
    'objects are closed, also deep down',
    object({ a: object({ b: text }), c: { type: 'array', items: object({ d: text }) } }),
    object(
      {
        a: object({ b: text }, { required: [], additionalProperties: false }),
        c: { type: 'array', items: object({ d: text }, { required: [], additionalProperties: false }) },
      },
      { required: [], additionalProperties: false },
    ),
  ],
  [
    'limits become words beside the description',
    object({
      a: { type: 'string', description: 'A name.', minLength: 1, pattern: '^a' },
      n: { type: 'integer', minimum: 3 },
    }),
    object(
      {
        a: { type: 'string', description: 'A name. {"minLength":1,"pattern":"^a"}' },
        n: { type: 'integer', description: '{"minimum":3}' },
      },
      { required: [], additionalProperties: false },
    ),
  ],
  [
    'a constant is an enumeration of one',
    object({ a: { const: 'x' }, b: { enum: [1, 2] }, c: { enum: ['x', null] } }, { required: ['a'] }),
    object(
      { a: { type: 'string', enum: ['x'] }, b: { type: 'number', enum: [1, 2] }, c: { enum: ['x', null] } },
      { required: ['a'], additionalProperties: false },
    ),
  ],
  [
    'several types are a choice',
    object({ a: { type: ['string', 'null'], title: 'A' }, b: { oneOf: [text, { type: 'boolean' }] } }),
    object(
      { a: { title: 'A', anyOf: [text, { type: 'null' }] }, b: { anyOf: [text, { type: 'boolean' }] } },
      { required: [], additionalProperties: false },
    ),
  ],
  [
    'definitions come along, what says nothing does not',
    object(
      { a: { $ref: '#/$defs/name', description: 'x' } },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: { name: { ...text, default: 'y' } } },
    ),
    object({ a: { $ref: '#/$defs/name' } }, { $defs: { name: text }, required: [], additionalProperties: false }),
  ],
];

const withoutForm: [string, JsonSchema][] = [
  ['an array', { type: 'array', items: text }],
  ['anything', {}],
  ['an object of anything', { type: 'object' }],
  ['an object with any names', object({ a: text }, { additionalProperties: text })],
  ['a property of anything', object({ a: {} })],
  ['a property that is never', object({ a: false as unknown as JsonSchema })],
  ['patterns of names', object({ a: text }, { patternProperties: { '^b': text } })],
  ['conditions', object({ a: text }, { if: {}, else: {} })],
  ['a conjunction', object({ a: { allOf: [text] } })],
  ['a negation', object({ a: { not: text } })],
  ['a reference elsewhere', object({ a: { $ref: 'https://example.com/schema' } })],
  [
    'a definition that leads to itself',
    object({ a: { $ref: '#/$defs/n' } }, { $defs: { n: object({ n: { $ref: '#/$defs/n' } }) } }),
  ],
  ['a reference to all of it', object({ a: { $ref: '#' } })],
  ['something required that nothing is said of', object({ a: text }, { required: ['b'] })],
  ['a list without items', object({ a: { type: 'array' } })],
  ['what is no schema at all', object({ a: 7 as unknown as JsonSchema }, { required: 'a' })],
  ['choices that are none', object({ a: { anyOf: 'x' } })],
];

describe('a schema in the form that providers accept', () => {
  test.each(rewritten)('%s', (_, given, expected) => {
    const before = structuredClone(given);
    expect(outputForm(given)?.schema).toEqual(expected);
    expect(given).toEqual(before);
  });

  test.each(rewritten)('%s: what it lets through is what the schema accepts, limits aside', (_, given) => {
    const answer = instanceOf(outputForm(given)!.schema, 'a text');
    const accepts = new Ajv2020({ strict: false }).compile(withoutLimits(given));
    expect([accepts(answer), accepts.errors]).toEqual([true, null]);
  });

  test('says whether every property is required', () => {
    expect(outputForm(object({ a: text }, { required: ['a'] }))!.allRequired).toBe(true);
    expect(outputForm(object({ a: text }))!.allRequired).toBe(false);
    const deep = object({ a: { type: 'array', items: object({ b: text }) } }, { required: ['a'] });
    expect(outputForm(deep)!.allRequired).toBe(false);
    expect(
      outputForm(object({ properties: text, type: text }, { required: ['properties', 'type'] }))!.allRequired,
    ).toBe(true);
  });

  test.each<[string, () => JsonSchema]>([
    ['a long chain of definitions', () => chain(5_000)],
    ['the same type many times, many levels deep', () => nested(60)],
  ])('comes soon for %s', (_, make) => {
    const schema = make();
    expect(outputForm(schema)).toBeDefined();
    expect(processorMs(() => outputForm(schema), 2_000)).toBeLessThan(2_000);
  });

  test('takes any name of a property', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
    );
    const form = outputForm(schema)!;
    expect(Object.keys(form.schema.properties as object)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(form.schema.properties)).toBe(Object.prototype);
  });

  test.each(withoutForm)('there is none for %s', (_, schema) => {
    expect(outputForm(schema)).toBeUndefined();
  });
});

test('in words, after what the system prompt says', () => {
  expect(askInWords({ type: 'array' }, 'Be brief.')).toMatch(
    /^Be brief\.\n\nAnswer only with one JSON value .*\n\{"type":"array"\}$/,
  );
  expect(askInWords({ type: 'array' }, undefined)).toMatch(/^Answer only with one JSON value/);
});

function chain(length: number): JsonSchema {
  const link = (n: number) => (n < length ? object({ next: { $ref: `#/$defs/d${n}` } }) : text);
  const $defs = Object.fromEntries(Array.from({ length }, (_, n) => [`d${n}`, link(n + 1)]));
  return object({ first: { $ref: '#/$defs/d0' } }, { $defs });
}

function nested(depth: number): JsonSchema {
  const inner = depth === 0 ? text : nested(depth - 1);
  return depth === 60 ? object({ a: inner }) : { type: ['object', 'object', 'null'], properties: { a: inner } };
}

/** The schema without the parts that providers only get in words. */
function withoutLimits(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (/^(min|max|pattern)/.test(key) ? undefined : value)));
}
