import { isJsonObject } from '../../platform/core/json-shapes.ts';

/** The limits of a tenant's JSON Schema. */
const schemaLimits = {
  bytes: 64 * 1024,
  subschemas: 500,
  depth: 16,
  /** Characters of all patterns together. */
  patterns: 2_000,
};

type Schema = Record<string, unknown>;

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const keywords = {
  one: [
    'items',
    'additionalItems',
    'unevaluatedItems',
    'contains',
    'additionalProperties',
    'unevaluatedProperties',
    'propertyNames',
    'not',
    'if',
    'then',
    'else',
    'contentSchema',
  ],
  list: ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'],
  named: ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
};

/** The values where a schema has the schemas that it is made of. They may be anything in a schema that is none. */
export function schemasWithin(schema: Schema): unknown[] {
  const lists = keywords.list.flatMap((name) => (Array.isArray(schema[name]) ? schema[name] : []));
  const named = keywords.named.flatMap((name) => (isJsonObject(schema[name]) ? Object.values(schema[name]) : []));
  return [...keywords.one.map((name) => schema[name]), ...lists, ...named];
}

function patternsOf({ pattern, patternProperties }: Schema): string[] {
  return [...(typeof pattern === 'string' ? [pattern] : []), ...Object.keys(patternProperties ?? {})];
}

/** What keeps a schema from being compiled at all, in words for its author. Takes time linear in the schema's size. */
export function findSchemaExcess(schema: Schema, bytes: number): string | undefined {
  if (bytes > schemaLimits.bytes) return `A schema may have ${schemaLimits.bytes} bytes at most.`;
  if (schema.$async !== undefined) return '$async is not available.';
  let [subschemas, patterns] = [0, 0];
  const find = (one: unknown, depth: number): string | undefined => {
    if (!isJsonObject(one)) return undefined;
    if (++subschemas > schemaLimits.subschemas)
      return `A schema may have ${schemaLimits.subschemas} subschemas at most.`;
    if (depth > schemaLimits.depth) return `A schema may be nested ${schemaLimits.depth} deep at most.`;
    patterns += patternsOf(one).reduce((sum, pattern) => sum + pattern.length, 0);
    if (patterns > schemaLimits.patterns) {
      return `The patterns of a schema may have ${schemaLimits.patterns} characters together.`;
    }
    for (const name of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const reference = one[name];
      if (typeof reference === 'string' && !reference.startsWith('#')) {
        return `A ${name} must begin with "#": nothing outside the schema is looked up.`;
      }
    }
    for (const inner of schemasWithin(one)) {
      const problem = find(inner, depth + 1);
      if (problem) return problem;
    }
    return undefined;
  };
  return find(schema, 1);
}
