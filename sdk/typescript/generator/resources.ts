import { type Json, methodsOfHttp } from './client-document.ts';

interface Method {
  /** Its last word: `create`. */
  name: string;
  operation: Json;
  path: string;
  verb: string;
}

/** A class: its methods, and the resources below it. */
interface Resource {
  words: string[];
  methods: Method[];
  children: Map<string, Resource>;
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const classOf = ({ words }: Resource): string => words.map(capitalized).join('') || 'Resources';
const fileOf = ({ words }: Resource): string =>
  `${words.join('-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) || 'index'}.ts`;
const typeOf = ({ operation }: Method): string => capitalized(operation.operationId);

function readTree(document: Json): Resource {
  const root: Resource = { words: [], methods: [], children: new Map() };
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const verb of methodsOfHttp) {
      const operation = item[verb];
      if (!operation) continue;
      const words: string[] = operation['x-client-method'].split('.');
      const name = words.pop()!;
      let at = root;
      for (const [index, word] of words.entries()) {
        const child = at.children.get(word) ?? { words: words.slice(0, index + 1), methods: [], children: new Map() };
        at.children.set(word, child);
        at = child;
      }
      at.methods.push({ name, operation, path, verb });
    }
  }
  return root;
}

const lines = (text: string, indent: string): string =>
  text
    .split('\n')
    .map((line) => `${indent}${line}`.trimEnd())
    .join('\n');

/** A docstring: the summary, then the description at 120 characters a line. */
function docstring(summary: string, description: string, indent: string): string {
  const wrapped = description
    .replaceAll('*/', '*\\/')
    .split('\n')
    .flatMap((line) => {
      const rows: string[] = [''];
      for (const word of line.split(' ')) {
        const last = rows[rows.length - 1]!;
        if (last !== '' && last.length + word.length > 108) rows.push(word);
        else rows[rows.length - 1] = last === '' ? word : `${last} ${word}`;
      }
      return rows;
    });
  const body = [`${summary}.`, ...(description ? ['', ...wrapped] : [])].map((row) => ` * ${row}`.trimEnd());
  return lines(['/**', ...body, ' */'].join('\n'), indent);
}

const isReference = (schema: Json): boolean => typeof schema?.$ref === 'string';
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

class Writer {
  readonly #schemas: Record<string, Json>;

  constructor(document: Json) {
    this.#schemas = document.components.schemas;
  }

  #resolve(schema: Json): Json {
    return isReference(schema) ? this.#resolve(this.#schemas[nameIn(schema.$ref)]) : schema;
  }

  /** The type of a schema by its names, or undefined where it has none. */
  #named(schema: Json): string | undefined {
    if (isReference(schema)) return `api.${nameIn(schema.$ref)}`;
    const all = schema.anyOf?.map((one: Json) => this.#named(one));
    return all?.every(Boolean) ? [...new Set(all)].join(' | ') : undefined;
  }

  /** What an operation answers: its media type, and the schema inside the envelope. */
  #answers({ operation }: Method): { kind: 'json' | 'bytes' | 'stream' | 'nothing'; data: Json[] } {
    const contents: Json[] = Object.values<Json>(operation.responses).map(({ content }) => content ?? {});
    const json = contents.map((content) => content['application/json']?.schema).filter(Boolean);
    if (json.length > 0) {
      const data = json.map((schema) => {
        const whole = this.#resolve(schema);
        return whole.properties?.success && whole.properties.data ? whole.properties.data : schema;
      });
      return { kind: 'json', data };
    }
    const types = contents.flatMap((content) => Object.keys(content));
    if (types.includes('text/event-stream')) return { kind: 'stream', data: [] };
    return { kind: types.length > 0 ? 'bytes' : 'nothing', data: [] };
  }

  #answerType(method: Method): string {
    const { kind, data } = this.#answers(method);
    if (kind === 'bytes') return 'Blob';
    if (kind === 'nothing') return 'void';
    const named = data.map((schema) => this.#named(schema));
    if (named.every((one) => one !== undefined))
      return [...new Set(named.flatMap((one) => one!.split(' | ')))].join(' | ');
    return `Data<api.${typeOf(method)}Response>`;
  }

  /** The member that contains the items of a list. @throws Error when there is none, or more than one */
  #itemsOf(method: Method): { member: string; item: string } {
    const [schema, ...others] = this.#answers(method).data;
    const whole = this.#resolve(schema);
    const arrays = Object.entries<Json>(whole?.properties ?? {}).filter(
      ([, one]) => this.#resolve(one).type === 'array',
    );
    const paging = ['pagination', 'total', 'limit', 'offset', 'nextCursor', 'hasMore'];
    const extra = Object.keys(whole?.properties ?? {}).filter((name) => !paging.includes(name));
    if (others.length > 0 || arrays.length !== 1 || extra.length !== 1)
      throw new Error(
        `${method.operation['x-client-method']} is no list of one kind of items: name it otherwise than list.`,
      );
    const [member, items] = arrays[0]!;
    const inner = this.#resolve(items).items;
    const item = this.#named(inner) ?? `Data<api.${typeOf(method)}Response>['${member}'][number]`;
    return { member, item };
  }

  /** The parameters and the call of a method. */
  method(method: Method): string {
    const { name, operation, path, verb } = method;
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter!);
    const of = (place: string) => operation.parameters.filter((one: Json) => one.in === place);
    const queries = of('query');
    const body = operation.requestBody;
    const hasQuery = queries.length > 0;
    const data = `api.${typeOf(method)}Data`;
    const parameters = inPath.map((one) => {
      const { schema } = of('path').find((parameter: Json) => parameter.name === one);
      return `${one}: ${schema.type === 'integer' || schema.type === 'number' ? 'number | string' : 'string'}`;
    });
    const request = inPath.length > 0 ? [`path: { ${inPath.join(', ')} }`] : [];
    if (body) {
      const isOptional = body.required !== true;
      parameters.push(
        `body${isOptional ? '?' : ''}: ${body.content['multipart/form-data'] ? `Form<${data}['body']>` : `NonNullable<${data}['body']>`}`,
      );
      request.push('body');
      if (hasQuery) request.push('query: options?.query');
    } else if (hasQuery) {
      const isRequired = queries.some(({ required }: Json) => required);
      parameters.push(isRequired ? `query: ${data}['query']` : `query?: ${data}['query']`);
      request.push('query');
    }
    const withQuery = body && hasQuery ? ` & { query?: ${data}['query'] }` : '';
    const { kind, data: answers } = this.#answers(method);
    const streams = kind === 'stream';
    parameters.push(`options?: ${streams ? 'StreamOptions' : 'RequestOptions'}${withQuery}`);
    const sent = `{ ${request.join(', ')} }`.replace('{  }', '{}');
    const doc = docstring(operation.summary, operation.description ?? '', '  ');
    const head = `${doc}\n  ${name}(${parameters.join(', ')})`;
    if (streams) {
      return `${head}: EventStream {\n    return this.transport.stream(sdk.${operation.operationId}, ${sent}, options);\n  }`;
    }
    if (name === 'list') {
      const { member, item } = this.#itemsOf(method);
      return `${head}: List<${item}> {\n    return this.transport.list(sdk.${operation.operationId}, ${sent}, '${member}', options);\n  }`;
    }
    const isRepeatable = operation['x-takes-key'] || ['get', 'put', 'delete'].includes(verb);
    const isEnveloped = kind === 'json' && answers.some((schema, index) => schema !== this.#whole(method, index));
    const traits = [
      `answer: '${kind}'`,
      ...(isEnveloped ? ['isEnveloped: true'] : []),
      ...(isRepeatable ? ['isRepeatable: true'] : []),
      ...(operation['x-takes-key'] ? ['takesKey: true'] : []),
    ];
    return `${head}: Promise<${this.#answerType(method)}> {\n    return this.transport.call(sdk.${operation.operationId}, ${sent}, { ${traits.join(', ')} }, options);\n  }`;
  }

  #whole({ operation }: Method, index: number): Json {
    return Object.values<Json>(operation.responses)
      .map(({ content }) => content?.['application/json']?.schema)
      .filter(Boolean)[index];
  }
}

/** The sources of the resource classes by file name, `index.ts` with their root. */
export function writeResources(
  document: Json,
  { isExtended }: { isExtended(file: string): boolean },
): Map<string, string> {
  const writer = new Writer(document);
  const files = new Map<string, string>();
  const write = (resource: Resource): void => {
    const children = [...resource.children].map(([word, child]) => ({ word, child }));
    const methods = resource.methods.map((method) => writer.method(method)).join('\n\n');
    const words = new Set(methods.match(/\w+/g));
    const uses = (word: string) => words.has(word);
    const from = (child: Resource) =>
      isExtended(fileOf(child)) ? `../../resources/${fileOf(child)}` : `./${fileOf(child)}`;
    const types = ['Data', 'Form', 'RequestOptions', 'StreamOptions'].filter(uses);
    const imports = [
      types.length > 0 && `import type { ${types.join(', ')} } from '../../core/options.ts';`,
      uses('List') && `import type { List } from '../../core/pagination.ts';`,
      uses('EventStream') && `import type { EventStream } from '../../core/streams.ts';`,
      `import { Resource } from '../../core/resource.ts';`,
      methods.includes('sdk.') && `import * as sdk from '../api/sdk.gen.ts';`,
      methods.includes('api.') && `import type * as api from '../api/types.gen.ts';`,
      ...children.map(({ child }) => `import { ${classOf(child)} } from '${from(child)}';`),
    ].filter(Boolean);
    const members = children
      .map(({ word, child }) => `  readonly ${word} = new ${classOf(child)}(this.transport);`)
      .join('\n');
    const body = [members, methods].filter(Boolean).join('\n\n');
    files.set(
      fileOf(resource),
      `// This file is generated from the OpenAPI document.\n\n${imports.join('\n')}\n\nexport class ${classOf(resource)} extends Resource {\n${body}\n}\n`,
    );
    for (const { child } of children) write(child);
  };
  write(readTree(document));
  return files;
}
