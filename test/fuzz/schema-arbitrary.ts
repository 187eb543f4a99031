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

function stringOf(schema: Schema): fc.Arbitrary<unknown> {
  const bounded = text(schema.maxLength ?? 200);
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern)).map((value) => value.slice(0, 64));
  if (schema.minLength) return bounded.map((value) => (value.trim() === '' ? 'x' : value));
  return bounded;
}

function objectOf(schema: Schema, resolve: (ref: string) => Schema): fc.Arbitrary<unknown> {
  const properties = Object.entries<Schema>(schema.properties ?? {});
  const required: string[] = schema.required ?? [];
  if (properties.length === 0) return fc.dictionary(fc.string({ maxLength: 10 }), anyJson, { maxKeys: 4 });
  const shape = Object.fromEntries(properties.map(([name, one]) => [name, valid(one, resolve)]));
  return fc.record(shape, { requiredKeys: required });
}

/** Values that the document says are valid. */
export function valid(schema: Schema, resolve: (ref: string) => Schema): fc.Arbitrary<unknown> {
  if (schema.$ref) return valid(resolve(schema.$ref), resolve);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return fc.oneof(...branches.map((one: Schema) => valid(one, resolve)));
  if (schema.allOf)
    return valid(
      Object.assign({}, ...schema.allOf.map((one: Schema) => (one.$ref ? resolve(one.$ref) : one))),
      resolve,
    );
  const types = [schema.type].flat();
  const of: Record<string, () => fc.Arbitrary<unknown>> = {
    string: () => stringOf(schema),
    integer: () => fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 1_000_000) }),
    number: () => fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000, noNaN: true }).map((n) => n + 0),
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
    array: () => fc.array(valid(schema.items ?? {}, resolve), { maxLength: Math.min(schema.maxItems ?? 3, 3) }),
    object: () => objectOf(schema, resolve),
  };
  const known = types.filter((type) => type in of);
  return known.length === 0 ? anyJson : fc.oneof(...known.map((type) => of[type]!()));
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
