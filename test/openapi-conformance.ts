import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

// biome-ignore lint/suspicious/noExplicitAny: a JSON document of any shape is walked here
type Json = any;

/** What came back, as far as the document speaks of it. */
export interface SeenAnswer {
  method: string;
  /** Path of the URL, as it was sent. */
  path: string;
  status: number;
  headers: Headers;
  body: unknown;
}

const documentId = 'openapi.json';

const pointer = (...parts: string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');

/**
 * An object that lists its members has no others: a field that nobody documented, or that belongs to the other dialect,
 * is then a finding. Objects that say what else they take are left alone.
 */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const lists = typeof inner.properties === 'object' && !('additionalProperties' in inner);
  return lists ? { ...inner, additionalProperties: false } : inner;
}

const templatePattern = (template: string) =>
  new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`);

/** Compares answers with the document that the same process publishes. */
export class Conformance {
  readonly #document: Json;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #templates: { template: string; pattern: RegExp }[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Json) {
    this.#document = document;
    formats.default(this.#ajv);
    const { paths, components } = document;
    this.#ajv.addSchema(closed({ paths, components }), documentId);
    this.#templates = Object.keys(paths).map((template) => ({ template, pattern: templatePattern(template) }));
  }

  /** @throws Error that says where the answer and the document part; silent where the document knows no such route */
  check({ method, path, status, headers, body }: SeenAnswer): void {
    const name = method.toLowerCase();
    const template = this.#templates.find(({ pattern }) => pattern.test(path))?.template;
    const operation = template && this.#document.paths[template][name];
    if (!operation) return;
    const what = `${method} ${template} answered ${status}`;
    const documented = operation.responses[status];
    if (!documented) throw new Error(`${what}, which the document does not know: ${JSON.stringify(body)}`);
    for (const [header, { required }] of Object.entries<Json>(documented.headers ?? {})) {
      if (required && !headers.has(header)) throw new Error(`${what} without the header ${header}`);
    }
    if (!documented.content) {
      if (body !== '') throw new Error(`${what} with ${JSON.stringify(body)}, where the document has no body`);
      return;
    }
    const type = (headers.get('content-type') ?? '').split(';')[0]!;
    if (!documented.content[type]) throw new Error(`${what} as ${type}, which the document does not know`);
    const place = pointer('paths', template, name, 'responses', String(status), 'content', type, 'schema');
    const validate = this.#validator(place);
    if (validate(body)) return;
    throw new Error(`${what} with ${JSON.stringify(body)}, where ${this.#ajv.errorsText(validate.errors)}`);
  }

  #validator(place: string): ValidateFunction {
    const known = this.#validators.get(place) ?? this.#ajv.compile({ $ref: `${documentId}#/${place}` });
    this.#validators.set(place, known);
    return known;
  }
}

const loaded = new Map<string, Promise<Conformance>>();

async function load(base: string): Promise<Conformance> {
  const response = await fetch(new URL('/openapi.json', base));
  return new Conformance(await response.json());
}

/** The document of the API at `base`, read once. */
export function conformanceOf(base: string): Promise<Conformance> {
  const known = loaded.get(base) ?? load(base);
  loaded.set(base, known);
  known.catch(() => loaded.delete(base));
  return known;
}
