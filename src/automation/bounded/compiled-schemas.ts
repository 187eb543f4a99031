// Runs in processes of the pool: what compiling and checking cost is decided by tenants' schemas.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { RE2JS } from 're2js';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { schemasWithin } from '../core/schema-limits.ts';

/** Patterns come from tenants and run over what models wrote: this engine takes time linear in both. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    return { test: (text: string) => compiled.matcher(text).find() };
  },
  { code: 'linearRegExp' },
);

/**
 * References are followed as calls and code is written as it comes: both would take time beyond all proportion. A value has
 * no properties but its own: every object inherits names such as `toString`.
 */
const options = {
  strict: false,
  inlineRefs: false,
  ownProperties: true,
  code: { regExp: linearRegExp, optimize: false },
} as const;

/**
 * Knows the schema of schemas, and no schema of any tenant. It compiles when this module is loaded, at no tenant's
 * expense.
 */
const metaSchemas = new Ajv2020(options);
metaSchemas.validateSchema({});

const describe = (errors: ErrorObject[] | null | undefined): string =>
  (errors ?? [])
    .slice(0, 5)
    .map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`.slice(0, 300))
    .join('; ');

type Schema = Record<string, unknown>;

const prototype = '__proto__';

/** The validator leaves out a property called `__proto__`, and checks it where a pattern names it. */
function withPrototypePattern(schema: Schema): Schema {
  const result = structuredClone(schema);
  const left: unknown[] = [result];
  while (left.length > 0) {
    const one = left.pop();
    if (!isJsonObject(one)) continue;
    left.push(...schemasWithin(one));
    const { properties, patternProperties = {} } = one;
    if (!isJsonObject(properties) || !Object.hasOwn(properties, prototype) || !isJsonObject(patternProperties))
      continue;
    let pattern = `^${prototype}$`;
    while (Object.hasOwn(patternProperties, pattern)) pattern = `(?:${pattern})`;
    patternProperties[pattern] = properties[prototype];
    one.patternProperties = patternProperties;
  }
  return result;
}

function compile(schema: Schema): ValidateFunction {
  // One for each schema: what one tenant calls by `$id` must not be found by another.
  const validator = new Ajv2020({ ...options, validateSchema: false });
  (formats as unknown as typeof formats.default)(validator);
  return validator.compile(withPrototypePattern(schema));
}

/** Schemas by their text, the one used last at the end. */
const compiled = new Map<string, ValidateFunction>();
/** Compiled code is many times as long as its schema: characters of the schemas whose code is kept. */
const keptCharacters = 64 * 1024;

function remember(text: string, validate: ValidateFunction): void {
  compiled.set(text, validate);
  let characters = [...compiled.keys()].reduce((sum, key) => sum + key.length, 0);
  for (const key of compiled.keys()) {
    if (characters <= keptCharacters || key === text) break;
    compiled.delete(key);
    characters -= key.length;
  }
}

/** @returns what is wrong with a schema, in words for its author; null when nothing is. Nothing is ever fetched for it */
export function schemaProblem(schema: Schema): string | null {
  try {
    // Whatever draft it names: its words are read as the latest one has them.
    const { $schema: _, ...words } = schema;
    if (!metaSchemas.validateSchema(words)) return `This is not a JSON Schema: ${describe(metaSchemas.errors)}.`;
    remember(JSON.stringify(schema), compile(schema));
    return null;
  } catch (error) {
    return `This is not a JSON Schema: ${error instanceof Error ? error.message : 'it cannot be read'}`.slice(0, 300);
  }
}

function validatorOf(schema: Schema): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? compile(schema);
  compiled.delete(text);
  remember(text, validate);
  return validate;
}

/** What is wrong with a value at its place, in the words of other fields of requests where these have some. */
function expectationOf({ keyword, params, message }: ErrorObject): string {
  const { type, allowedValues, limit, additionalProperty } = params as Record<string, unknown>;
  switch (keyword) {
    case 'required':
      return 'Required.';
    case 'type':
      return `Expected ${/^[aeiou]/.test(String(type)) ? 'an' : 'a'} ${[type].flat().join(' or ')}.`;
    case 'enum':
      return `Expected one of ${(allowedValues as unknown[]).join(', ')}.`;
    case 'minimum':
    case 'maximum':
      return `Expected at ${keyword === 'minimum' ? 'least' : 'most'} ${limit}.`;
    case 'minLength':
    case 'maxLength':
      return `Expected at ${keyword === 'minLength' ? 'least' : 'most'} ${limit} character${limit === 1 ? '' : 's'}.`;
    case 'additionalProperties':
      return `Unknown field: ${additionalProperty}.`;
    default:
      return `The value ${message ?? 'is not valid'}.`;
  }
}

/** @returns the places of an object that do not match, and why; the first one alone of each that stops the check */
export function mismatches(schema: Schema, value: unknown): { path: string[]; message: string }[] {
  const validate = validatorOf(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).slice(0, 20).map((error) => {
    const missing = (error.params as { missingProperty?: string }).missingProperty;
    const path = error.instancePath.split('/').slice(1);
    return { path: missing === undefined ? path : [...path, missing], message: expectationOf(error).slice(0, 300) };
  });
}

/** @returns how a value does not match; null when it does */
export function mismatch(schema: Schema, value: unknown): string | null {
  const validate = validatorOf(schema);
  return validate(value) ? null : describe(validate.errors);
}
