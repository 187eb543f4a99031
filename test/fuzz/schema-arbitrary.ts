import fc from 'fast-check';

// biome-ignore lint/suspicious/noExplicitAny: a schema is JSON of many shapes; what is unknown becomes any JSON value
type Schema = any;

const anyJson = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
/** Text that breaks what is careless: quotes, templates, controls, astral characters. Without NUL, which no body may have. */
const text = (maximum: number) =>
  fc
    .oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.constantFrom(
        "'; drop table run; --",
        '{{input}}',
        '{{__proto__}}',
        '😀',
        '\u202e',
        '%00',
        '../..',
        '$1',
        '\r\nX: y',
      ),
    )
    .map((value) => [...value.replaceAll('\0', '')].slice(0, maximum).join(''));

/** Whether a text is one that JSON in UTF-8 can hold, without NUL. */
const isSendable = (value: string) => value.isWellFormed() && !value.includes('\0');

function stringOf({ pattern, format, minLength = 0, maxLength = 200 }: Schema): fc.Arbitrary<unknown> {
  if (format === 'email') return oneOf('ada@example.com', 'grace.hopper+books@mail.example.org');
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
  const ofLength = (value: string) => [...value].length >= minLength && [...value].length <= maxLength;
  const expression = new RegExp(pattern ?? '');
  if (pattern?.startsWith('^')) return fc.stringMatching(expression).filter((one) => isSendable(one) && ofLength(one));
  return text(maxLength).map((value) => (ofLength(value) && expression.test(value) ? value : 'x'.repeat(minLength)));
}

function objectOf(schema: Schema, known: Known, component: string): fc.Arbitrary<unknown> {
  // `not: {}` excludes every value.
  const properties = Object.entries<Schema>(schema.properties ?? {}).filter(([, one]) => !one.not);
  const required: string[] = schema.required ?? [];
  if (properties.length === 0) {
    const inner = schema.additionalProperties ?? {};
    const name = schema.propertyNames
      ? stringOf({ maxLength: 40, ...schema.propertyNames })
      : fc.string({ maxLength: 10 });
    return fc.dictionary(name as fc.Arbitrary<string>, valid(inner, known), { maxKeys: 4 });
  }
  const shape = Object.fromEntries(
    properties.map(([name, one]) => [name, obeying(known, `${component}.${name}`, valid(one, known))]),
  );
  return fc.record(shape, { requiredKeys: required });
}

function arrayOf(schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const lengths = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 3, 3) };
  const item = valid(schema.items ?? {}, known);
  return schema.uniqueItems ? fc.uniqueArray(item, lengths) : fc.array(item, lengths);
}

/** What a value of a schema must obey besides it: makes the values obedient. */
export type Rule = (values: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>;

/** A rule that no schema can say: where it stands in the document, its words there, and values that follow it. */
export interface WordedRule {
  at: string[];
  words: RegExp;
  follow: Rule;
}

export const oneOf = (...values: unknown[]) => fc.constantFrom(...values);

export interface Known {
  resolve(reference: string): Schema;
  /** By component or `Component.member`. */
  rules?: Record<string, Rule>;
}

const obeying = ({ rules = {} }: Known, place: string, values: fc.Arbitrary<unknown>) =>
  Object.hasOwn(rules, place) ? rules[place]!(values) : values;

/** Values that the document says are valid. */
export function valid(schema: Schema, known: Known, component = ''): fc.Arbitrary<unknown> {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1);
    return obeying(known, name, valid(known.resolve(schema.$ref), known, name));
  }
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return fc.oneof(...branches.map((one: Schema) => valid(one, known)));
  if (schema.allOf) {
    const parts = schema.allOf.map((one: Schema) => (one.$ref ? known.resolve(one.$ref) : one));
    return valid(Object.assign({}, ...parts), known, component);
  }
  const types = [schema.type].flat();
  const of: Record<string, () => fc.Arbitrary<unknown>> = {
    string: () => stringOf(schema),
    integer: () => fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 1_000_000) }),
    number: () => fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000, noNaN: true }).map((n) => n + 0),
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
    array: () => arrayOf(schema, known),
    object: () => objectOf(schema, known, component),
  };
  const named = types.filter((type) => type in of);
  return named.length === 0 ? anyJson : fc.oneof(...named.map((type) => of[type]!()));
}

/** The same value with one member replaced by something of another kind, at any depth. */
export const mutated = (value: unknown): fc.Arbitrary<unknown> =>
  fc.tuple(fc.nat(), anyJson).map(([seed, replacement]) => replaceOne(value, seed, replacement));

function replaceOne(value: unknown, seed: number, replacement: unknown): unknown {
  if (typeof value !== 'object' || value === null) return replacement;
  const keys = Object.keys(value);
  if (keys.length === 0) return replacement;
  const key = keys[seed % keys.length]!;
  const inner = replaceOne((value as Record<string, unknown>)[key], Math.floor(seed / keys.length), replacement);
  return Array.isArray(value) ? value.with(Number(key), inner) : { ...value, [key]: inner };
}
