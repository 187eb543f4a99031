import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { RE2JS } from 're2js';
import type { JsonSchema } from '../providers/ports.ts';

/** Characters of a schema as JSON. */
export const maxSchemaLength = 64 * 1024;

/** Patterns come from tenants and run over what models wrote: this engine takes time linear in both. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    return { test: (text: string) => compiled.matcher(text).find() };
  },
  { code: 'linearRegExp' },
);

const options = { strict: false, code: { regExp: linearRegExp } };
/** Knows what a schema is, and no schema of any tenant. */
const metaSchemas = new Ajv2020(options);

const describe = (errors: ErrorObject[] | null | undefined): string =>
  (errors ?? [])
    .slice(0, 5)
    .map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`)
    .join('; ');

const compiled = new Map<string, ValidateFunction>();
const mostCompiled = 200;

function compile(text: string, schema: JsonSchema): ValidateFunction {
  const known = compiled.get(text);
  if (known) return known;
  // One for each schema: what one tenant calls by `$id` must not be found by another.
  const validator = new Ajv2020({ ...options, validateSchema: false });
  (formats as unknown as typeof formats.default)(validator);
  const validate = validator.compile(schema);
  if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value!);
  compiled.set(text, validate);
  return validate;
}

/** Why a schema cannot be used, in words for whoever wrote it; undefined when it can. Nothing is ever fetched for it. */
export function findSchemaProblem(schema: JsonSchema): string | undefined {
  const text = JSON.stringify(schema);
  if (text.length > maxSchemaLength) return `A schema may have ${maxSchemaLength} characters at most.`;
  if (schema.$async !== undefined) return '$async is not available.';
  try {
    // Whatever draft it names: its words are read as the latest one has them.
    const { $schema: _, ...words } = schema;
    if (!metaSchemas.validateSchema(words)) {
      return `This is not a JSON Schema: ${describe(metaSchemas.errors)}.`;
    }
    compile(text, schema);
    return undefined;
  } catch (error) {
    return `This is not a JSON Schema: ${error instanceof Error ? error.message : 'it cannot be read'}`.slice(0, 300);
  }
}

export type CheckedAnswer = { value: unknown } | { problem: string };

/** Reads a model's answer as JSON and holds it to the schema. */
export function checkAnswer(schema: JsonSchema, text: string): CheckedAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'it is not JSON' };
  }
  const validate = compile(JSON.stringify(schema), schema);
  return validate(value) ? { value } : { problem: describe(validate.errors) };
}
