import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { onEveryAnswer } from '../../api/middleware/security-headers.ts';

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

/** What HTTP itself, a proxy and every answer of the process has; the document does not say it of each. */
const ofTransport = [
  'content-type',
  'content-length',
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'server',
];
/** What browsers read, and callers do not. */
const ofCrossOrigin = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'];
const undocumented = new Set([
  ...ofTransport,
  ...ofCrossOrigin,
  ...Object.keys(onEveryAnswer).map((name) => name.toLowerCase()),
]);

/** What any path may answer to a method that it does not have: that, or that the caller must wait, or a failure. */
const toOtherMethods = [405, 429, 500];

const pointer = (...parts: string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');

/**
 * An object that lists its members has no others: an undocumented field, or one that belongs to the other dialect,
 * is then a finding. Objects that say what else they take are left alone.
 */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const lists = typeof inner.properties === 'object' && !('additionalProperties' in inner);
  return lists ? { ...inner, additionalProperties: false } : inner;
}

/** What may stand in the place of each parameter: what its own pattern says, where it has one. */
function templatePattern(template: string, operations: Json): RegExp {
  const parameters: Json[] = Object.values<Json>(operations).flatMap((operation) => operation.parameters ?? []);
  const patternOf = (name: string) => {
    const { pattern = '^[^/]+$' } = parameters.find((one) => one.in === 'path' && one.name === name)?.schema ?? {};
    return pattern.slice(1, -1);
  };
  const fixed = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${fixed.replace(/\{([^}]+)\}/g, (_, name: string) => patternOf(name))}$`);
}

/** Compares answers with the document that the API publishes. */
export class Conformance {
  readonly #document: Json;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  /** For headers, which are texts whatever they say. */
  readonly #ajvOfTexts = new Ajv2020({ strict: false, coerceTypes: true });
  readonly #templates: { template: string; pattern: RegExp }[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Json) {
    this.#document = document;
    for (const ajv of [this.#ajv, this.#ajvOfTexts]) formats.default(ajv);
    const { paths, webhooks, components } = document;
    this.#ajv.addSchema(closed({ paths, webhooks, components }), documentId);
    this.#templates = Object.entries<Json>(paths).map(([template, operations]) => ({
      template,
      pattern: templatePattern(template, operations),
    }));
  }

  /** The document lists each operation once: what is served below `/v1` stands below `/api/v1`. */
  #templateOf(path: string): string | undefined {
    const listed = path.replace(/^\/v1\//, '/api/v1/');
    // A literal path is never an id that stands in its place elsewhere.
    if (Object.hasOwn(this.#document.paths, listed)) return listed;
    return this.#templates.find(({ pattern }) => pattern.test(listed))?.template;
  }

  /** @throws Error that says where the answer and the document part; silent where the document knows no such path */
  check({ method, path, status, headers, body }: SeenAnswer): void {
    const template = this.#templateOf(path);
    if (!template) return;
    const what = `${method} ${template} answered ${status}`;
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    const operation = this.#document.paths[template][name];
    if (!operation) {
      this.#checkOtherMethod(what, template, status, headers);
      return;
    }
    const [place, documented] = this.resolve('paths', template, name, 'responses', String(status));
    if (!documented) throw new Error(`${what}, which the document does not know: ${JSON.stringify(body)}`);
    // Browsers and providers read no headers of ours.
    if (!operation.tags?.includes('Inbound')) this.#checkHeaders(what, documented.headers ?? {}, headers);
    if (method === 'HEAD') return;
    if (!documented.content) {
      if (body !== '') throw new Error(`${what} with ${JSON.stringify(body)}, where the document has no body`);
      return;
    }
    const type = (headers.get('content-type') ?? '').split(';')[0]!;
    if (!documented.content[type]) throw new Error(`${what} as ${type}, which the document does not know`);
    const validate = this.#validator(pointer(...place, 'content', type, 'schema'));
    if (validate(body)) return;
    throw new Error(`${what} with ${JSON.stringify(body)}, where ${this.#ajv.errorsText(validate.errors)}`);
  }

  /** What stands at a place of the document, or at the place that it refers to. @returns where that is, and it */
  resolve(...place: string[]): [place: string[], value: Json] {
    const value = place.reduce((at, name) => at?.[name], this.#document);
    if (typeof value?.$ref !== 'string') return [place, value];
    return this.resolve(...value.$ref.slice(2).split('/'));
  }

  /** What is wrong with a value that stands for the schema at this place; undefined when nothing is. */
  problemOf(value: unknown, ...place: string[]): string | undefined {
    const validate = this.#validator(pointer(...place));
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
  }

  #checkHeaders(what: string, documented: Json, headers: Headers): void {
    const known = new Set(Object.keys(documented).map((header) => header.toLowerCase()));
    for (const header of Object.keys(documented)) {
      const [, { required, schema }] = this.#header(documented[header]);
      const value = headers.get(header);
      if (value === null && required) throw new Error(`${what} without the header ${header}`);
      if (value !== null && !this.#ajvOfTexts.validate(schema, value)) {
        throw new Error(`${what} with ${header}: ${value}, where ${this.#ajvOfTexts.errorsText()}`);
      }
    }
    for (const header of headers.keys()) {
      if (known.has(header) || undocumented.has(header)) continue;
      throw new Error(`${what} with the header ${header}, which the document does not know there`);
    }
  }

  #header(header: Json): [place: string[], value: Json] {
    return typeof header.$ref === 'string' ? this.resolve(...header.$ref.slice(2).split('/')) : [[], header];
  }

  #checkOtherMethod(what: string, template: string, status: number, headers: Headers): void {
    if (!toOtherMethods.includes(status)) {
      throw new Error(
        `${what}, where the document has no such operation: expected one of ${toOtherMethods.join(', ')}`,
      );
    }
    if (status !== 405) return;
    const documented = Object.keys(this.#document.paths[template]).map((method) => method.toUpperCase());
    const allowed = documented.includes('GET') ? [...documented, 'HEAD'] : documented;
    const said = headers.get('allow')?.split(', ') ?? [];
    if (said.toSorted().join() !== allowed.toSorted().join()) {
      throw new Error(`${what} with Allow: ${said.join(', ')}, where the document has ${allowed.join(', ')}`);
    }
  }

  #validator(place: string): ValidateFunction {
    const known = this.#validators.get(place) ?? this.#ajv.compile({ $ref: `${documentId}#/${place}` });
    this.#validators.set(place, known);
    return known;
  }
}

let loaded: Promise<Conformance> | undefined;

async function load(base: string): Promise<Conformance> {
  const response = await fetch(new URL('/openapi.json', base));
  return new Conformance(await response.json());
}

/**
 * The document of the API, which each of Jest's workers reads once, from the first process that it asks. All processes
 * publish the same, and to make, read and compile it costs as much as hundreds of requests.
 */
export async function conformanceOf(base: string): Promise<Conformance> {
  const known = loaded && (await loaded.catch(() => undefined));
  if (known) return known;
  // Not requested yet, or the process with the request has died.
  loaded = load(base);
  return loaded;
}
