import { RE2JS } from 're2js';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import type { JsonSchema } from '../ports.ts';

/** Below this depth only required values are generated, so that recursive schemas end. */
const generousDepth = 4;
const deepest = 32;
/** Maximum size of an instance. */
const initialBudget = { values: 10_000, characters: 256 * 1024 };

const formats: Record<string, string> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'sandbox@example.com',
  'idn-email': 'sandbox@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  'uri-reference': '/',
  iri: 'https://example.com/',
  uuid: '01930000-0000-7000-8000-000000000000',
  'json-pointer': '/sandbox',
  regex: '.*',
};

/** Candidates for a `pattern`. */
const simple = [
  'a',
  'A',
  '0',
  'a1',
  'A1',
  'ab',
  'AB',
  'abc',
  'ABC',
  '00',
  '000',
  '0000',
  '00000',
  'a-b',
  'A-1',
  'ABC-123',
];

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

interface Making {
  root: JsonSchema;
  /** Content of strings that the schema does not determine. */
  text: string;
  depth: number;
  /** Index of the item, so that items of an array differ. */
  index: number;
  /** Remaining values and characters of the whole instance. */
  budget: { values: number; characters: number };
  /** Compiled patterns; undefined for invalid ones. */
  patterns: Map<string, RE2JS | undefined>;
}

function follow(ref: unknown, root: JsonSchema): unknown {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return {};
  const path = ref.slice(1).split('/').slice(1);
  return path.reduce<unknown>((at, part) => {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

/** Merges two schemas, such as one with `properties` and one with `required`. */
function merged(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties = { ...(one.properties as JsonSchema), ...(other.properties as JsonSchema) };
  const required = [...listOf(one.required), ...listOf(other.required)];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** Resolves references, `allOf` and choices. Of a choice it takes the first, or below the depth limit the smallest. */
function flattened(given: unknown, making: Making): JsonSchema {
  let schema: JsonSchema = isJsonObject(given) ? given : {};
  for (let step = 0; step < deepest; step++) {
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    if ($ref !== undefined) {
      const target = follow($ref, making.root);
      schema = merged(isJsonObject(target) ? target : {}, { ...rest, ...(allOf !== undefined && { allOf }) });
    } else if (allOf !== undefined) {
      schema = listOf(allOf)
        .filter(isJsonObject)
        .reduce(merged, { ...rest, ...(anyOf !== undefined && { anyOf }) });
    } else if (anyOf !== undefined || oneOf !== undefined) {
      const choices = listOf(anyOf ?? oneOf).filter(isJsonObject);
      const plain = choices.toSorted((a, b) => JSON.stringify(a).length - JSON.stringify(b).length);
      schema = merged(rest, (making.depth < generousDepth ? choices : plain)[0] ?? {});
    } else return schema;
  }
  return schema;
}

function typeOf(schema: JsonSchema): string {
  const { type } = schema;
  if (typeof type === 'string') return type;
  const named = listOf(type).find((one) => one !== 'null') ?? listOf(type)[0];
  if (typeof named === 'string') return named;
  const has = (...names: string[]) => names.some((name) => schema[name] !== undefined);
  if (has('properties', 'required', 'minProperties', 'additionalProperties')) return 'object';
  if (has('items', 'prefixItems', 'minItems')) return 'array';
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf') ? 'number' : 'string';
}

/** Patterns are chosen by tenants, so an engine with linear time is used. */
function compile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

function fitting(pattern: string, { patterns }: Making, hasLength: (text: string) => boolean): string | undefined {
  if (!patterns.has(pattern)) patterns.set(pattern, compile(pattern));
  const fits = patterns.get(pattern);
  return fits && (simple.find((one) => hasLength(one) && fits.matcher(one).find()) ?? 'sandbox');
}

function makeString(schema: JsonSchema, making: Making): string {
  const { text, index, budget } = making;
  const { pattern, format } = schema;
  const [minLength, maxLength] = [
    numberOf(schema.minLength) ?? 0,
    numberOf(schema.maxLength) ?? Number.POSITIVE_INFINITY,
  ];
  const hasLength = (one: string) => one.length >= minLength && one.length <= maxLength;
  const known = typeof pattern === 'string' ? fitting(pattern, making, hasLength) : undefined;
  if (known !== undefined) return known;
  if (typeof format === 'string' && formats[format] !== undefined) return formats[format];
  const left = Math.max(0, budget.characters);
  // Cut between characters: half of a surrogate pair cannot be stored.
  const said = `${index > 0 ? `${index + 1} ` : ''}${text}`.slice(0, left);
  const characters = [...said].slice(0, Math.max(0, maxLength));
  const made = characters.join('').padEnd(characters.length >= minLength ? 0 : Math.min(minLength, left), '.');
  budget.characters -= made.length;
  return made;
}

function makeNumber(schema: JsonSchema, { index }: Making, whole: boolean): number {
  const step = numberOf(schema.multipleOf) ?? (whole ? 1 : undefined);
  const small = step ?? 0.001;
  const exclusive = numberOf(schema.exclusiveMinimum);
  const lowest = Math.max(
    numberOf(schema.minimum) ?? Number.NEGATIVE_INFINITY,
    exclusive === undefined ? Number.NEGATIVE_INFINITY : exclusive + small,
  );
  const below = numberOf(schema.exclusiveMaximum);
  const highest = Math.min(
    numberOf(schema.maximum) ?? Number.POSITIVE_INFINITY,
    below === undefined ? Number.POSITIVE_INFINITY : below - small,
  );
  const start = lowest > 0 ? lowest : highest < 0 ? highest : 0;
  const onStep = step === undefined ? start : (highest < 0 ? Math.floor : Math.ceil)(start / step) * step;
  const next = onStep + index * (step ?? 1);
  return next <= highest ? next : onStep;
}

function makeObject(schema: JsonSchema, making: Making): JsonSchema {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = listOf(schema.required).filter((name) => typeof name === 'string');
  const generous = making.depth < generousDepth;
  const names = new Set([...(generous ? Object.keys(properties) : []), ...required]);
  const wanted = Math.min(numberOf(schema.minProperties) ?? 0, making.budget.values);
  for (let number = 1; names.size < wanted; number++) names.add(`property${number}`);
  const result: JsonSchema = {};
  for (const name of names) {
    const value = make(Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties, {
      ...making,
      depth: making.depth + 1,
      index: 0,
    });
    Object.defineProperty(result, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return result;
}

function makeArray(schema: JsonSchema, making: Making): unknown[] {
  const first = listOf(schema.prefixItems);
  const wanted = Math.max(numberOf(schema.minItems) ?? 0, making.depth < generousDepth ? Math.max(1, first.length) : 0);
  const count = Math.min(wanted, numberOf(schema.maxItems) ?? wanted, Math.max(0, making.budget.values));
  return Array.from({ length: schema.items === false ? Math.min(count, first.length) : count }, (_, index) =>
    make(first[index] ?? schema.items, { ...making, depth: making.depth + 1, index }),
  );
}

function make(given: unknown, making: Making): unknown {
  if (making.budget.values-- <= 0 || making.depth > deepest) return null;
  const schema = flattened(given, making);
  if (schema.const !== undefined) return schema.const;
  const values = listOf(schema.enum);
  if (values.length > 0) return values[making.index % values.length];
  const examples = listOf(schema.examples);
  if (examples.length > 0) return examples[making.index % examples.length];
  const type = typeOf(schema);
  if (type === 'object') return makeObject(schema, making);
  if (type === 'array') return makeArray(schema, making);
  if (type === 'integer' || type === 'number') return makeNumber(schema, making, type === 'integer');
  if (type === 'boolean') return making.index % 2 === 0;
  return type === 'null' ? null : makeString(schema, making);
}

/**
 * Generates a value that a JSON Schema accepts. The same schema and text give the same value. Only simple patterns are
 * supported, and `not`, `if` and `dependent…` are ignored: add `examples` to such schemas.
 */
export const instanceOf = (schema: JsonSchema, text: string): unknown =>
  make(schema, { root: schema, text, depth: 0, index: 0, budget: { ...initialBudget }, patterns: new Map() });
