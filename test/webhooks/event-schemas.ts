import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { declared } from '../../src/platform/parts/declared-parts.ts';
import { bodySchemaOf } from '../../src/webhooks/core/event-body.ts';

/** The same schema without members that it does not list: an undeclared one is a fault. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const lists = 'properties' in inner && !('additionalProperties' in inner);
  return lists ? Object.assign(inner, { additionalProperties: false }) : inner;
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
formats.default(ajv);
const validators = new Map<string, ValidateFunction>();

interface Sent {
  type: string;
  data: Record<string, unknown>;
  /** Members of the form that webhooks of an integration get. */
  integration?: string;
  signature?: string;
}

/** Why the body of an event is not what the catalogue says of its type; undefined when it is, or has another form. */
export function problemOfEvent(body: string): string | undefined {
  const sent = JSON.parse(body) as Sent;
  const isThin = Object.keys(sent.data).join() === 'id';
  if (isThin || (sent.integration && sent.signature)) return undefined;
  const event = declared.events.get(sent.type);
  if (!event) return `No part declares ${sent.type}.`;
  const validate = validators.get(sent.type) ?? ajv.compile(closed(bodySchemaOf(event)) as object);
  validators.set(sent.type, validate);
  return validate(sent) ? undefined : `${body}: ${ajv.errorsText(validate.errors)}`;
}
