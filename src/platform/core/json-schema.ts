/** A JSON Schema of draft 2020-12, as plain data. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The schemas of the members of an object: one for each, in the order in which they are written. */
export type MemberSchemas<Data> = { readonly [Name in keyof Data]-?: JsonSchema };

const described = (schema: JsonSchema, description: string | undefined): JsonSchema =>
  description === undefined ? schema : { ...schema, description };

export const text = (description?: string): JsonSchema => described({ type: 'string' }, description);
export const integer = (description?: string): JsonSchema => described({ type: 'integer' }, description);
export const number = (description?: string): JsonSchema => described({ type: 'number' }, description);
export const uuid = (description?: string): JsonSchema => described({ type: 'string', format: 'uuid' }, description);
/** ISO 8601, in UTC. */
export const time = (description?: string): JsonSchema =>
  described({ type: 'string', format: 'date-time' }, description);

/** One value, or one of several. */
export const oneOf = (values: readonly string[], description?: string): JsonSchema =>
  described(
    values.length === 1 ? { type: 'string', const: values[0] } : { type: 'string', enum: [...values] },
    description,
  );

export const listOf = (items: JsonSchema, description?: string): JsonSchema =>
  described({ type: 'array', items }, description);

/** An object with members that the caller named. */
export const anyObject = (description?: string): JsonSchema =>
  described({ type: 'object', additionalProperties: {} }, description);

/** The same, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  if (schema.enum !== undefined || typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [schema.type, 'null'] };
}

/**
 * An object with these members. Other members may be added to it later.
 * @param optional the names of those that may be missing
 */
export const object = <Data extends object>(
  members: MemberSchemas<Data>,
  optional: readonly (keyof Data & string)[] = [],
): JsonSchema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter((name) => !(optional as readonly string[]).includes(name)),
});
