import { isJsonObject } from '../../platform/core/json-shapes.ts';
import type { JsonSchema } from '../ports.ts';

/** A schema in the form all providers accept: objects are closed, and limits of values are part of descriptions. */
export interface OutputForm {
  schema: JsonSchema;
  /** Whether all properties are required, as OpenAI's strict mode demands. */
  allRequired: boolean;
}

/** Keywords that not all providers enforce. They are added to descriptions, and the caller validates the output. */
const describedLimits = [
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
];
const known = new Set([
  ...describedLimits,
  '$defs',
  '$ref',
  'type',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'title',
  'description',
  // Omitted.
  '$schema',
  '$id',
  '$comment',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/** Thrown in this file for schemas that some provider does not support. */
class Inexpressible extends Error {}

function schemaOf(value: unknown): JsonSchema {
  if (!isJsonObject(value)) throw new Inexpressible();
  return value;
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Inexpressible();
  return value;
}

/** `defineProperty`, because a property can be named `__proto__`. */
function mapValues(values: JsonSchema, map: (value: unknown) => unknown): JsonSchema {
  const result: JsonSchema = {};
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(result, name, { value: map(value), enumerable: true, writable: true, configurable: true });
  }
  return result;
}

function annotations(schema: JsonSchema): JsonSchema {
  const limits = Object.fromEntries(
    describedLimits.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])),
  );
  const words = [schema.description, Object.keys(limits).length > 0 && JSON.stringify(limits)].filter(Boolean);
  return {
    ...(typeof schema.title === 'string' && { title: schema.title }),
    ...(words.length > 0 && { description: words.join(' ') }),
  };
}

const ownRef = /^#\/\$defs\/([^/~%]+)$/;

function oneOfValues(values: unknown[], type: unknown): JsonSchema {
  const kinds = new Set(values.map((value) => typeof value));
  const [kind] = kinds;
  const inferred = kinds.size === 1 && ['string', 'number', 'boolean'].includes(kind!) ? kind : undefined;
  const known = typeof type === 'string' ? type : inferred;
  return { ...(known && { type: known }), enum: values };
}

function closedObject({ properties, additionalProperties, required = [] }: JsonSchema): JsonSchema {
  const described = schemaOf(properties);
  const names = listOf(required);
  const open = isJsonObject(additionalProperties) || Object.keys(described).length === 0;
  // Every required property needs a schema.
  if (open || !names.every((name) => Object.hasOwn(described, String(name)))) throw new Inexpressible();
  return { type: 'object', properties: mapValues(described, rewrite), required: names, additionalProperties: false };
}

function rewrite(given: unknown): JsonSchema {
  const schema = schemaOf(given);
  if (Object.keys(schema).some((name) => !known.has(name))) throw new Inexpressible();
  const { type, $ref, $defs } = schema;
  if ($ref !== undefined) {
    if (!ownRef.test(String($ref))) throw new Inexpressible();
    return { $ref };
  }
  const result = { ...annotations(schema), ...($defs !== undefined && { $defs: mapValues(schemaOf($defs), rewrite) }) };
  if (schema.const !== undefined) return { ...result, ...oneOfValues([schema.const], type) };
  if (schema.enum !== undefined) return { ...result, ...oneOfValues(listOf(schema.enum), type) };
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    if (schema.properties !== undefined || schema.items !== undefined) throw new Inexpressible();
    return { ...result, anyOf: listOf(choices).map(rewrite) };
  }
  if (Array.isArray(type)) {
    const { title: _, description: __, ...bare } = schema;
    return { ...result, anyOf: [...new Set(type)].map((one) => rewrite({ ...bare, type: one })) };
  }
  if (type === 'object') return { ...result, ...closedObject(schema) };
  if (type === 'array') return { ...result, type, items: rewrite(schema.items) };
  if (typeof type !== 'string') throw new Inexpressible();
  return { ...result, type };
}

const parts = (value: unknown): unknown[] => (typeof value === 'object' && value !== null ? Object.values(value) : []);

/** All nested objects that can be schemas, including `schema`. */
function* all(schema: unknown): Generator<JsonSchema> {
  if (isJsonObject(schema)) yield schema;
  for (const part of parts(schema)) yield* all(part);
}

/** Whether a definition refers to itself, which not every provider supports. */
function isRecursive(definitions: JsonSchema): boolean {
  const names = Object.keys(definitions);
  const usedBy = new Map<string, string[]>(names.map((name) => [name, []]));
  const open = new Map<string, number>();
  for (const name of names) {
    const uses = new Set([...all(definitions[name])].flatMap(({ $ref }) => ownRef.exec(String($ref))?.[1] ?? []));
    const known = [...uses].filter((used) => usedBy.has(used));
    for (const used of known) usedBy.get(used)!.push(name);
    open.set(name, known.length);
  }
  // Topological sort: definitions without references are removed repeatedly. What remains contains a cycle.
  const ended = names.filter((name) => open.get(name) === 0);
  for (let index = 0; index < ended.length; index++) {
    for (const user of usedBy.get(ended[index]!)!) {
      open.set(user, open.get(user)! - 1);
      if (open.get(user) === 0) ended.push(user);
    }
  }
  return ended.length < names.length;
}

/** @returns undefined for a schema that not all providers support; use `askInWords` then */
export function outputForm(outputSchema: JsonSchema): OutputForm | undefined {
  try {
    const schema = rewrite(outputSchema);
    if (schema.type !== 'object' || isRecursive(isJsonObject(schema.$defs) ? schema.$defs : {})) return undefined;
    const allRequired = [...all(schema)].every(
      ({ type, properties, required }) =>
        type !== 'object' || Object.keys(properties as JsonSchema).length === (required as unknown[]).length,
    );
    return { schema, allRequired };
  } catch (error) {
    if (error instanceof Inexpressible) return undefined;
    throw error;
  }
}

/** A system prompt that requests JSON for a schema that providers do not support. */
export function askInWords(outputSchema: JsonSchema, system: string | undefined): string {
  const request = `Answer only with one JSON value that conforms to this JSON Schema:\n${JSON.stringify(outputSchema)}`;
  return system ? `${system}\n\n${request}` : request;
}
