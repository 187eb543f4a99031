import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Json, type ReadDocument, readDocument } from './document.ts';
import { printDocument } from './printed-document.ts';

let read: ReadDocument;
let text: string;
beforeAll(async () => {
  text = await printDocument();
  read = readDocument(JSON.parse(text));
});

describe('for generators of clients the document', () => {
  test('names the answers of each dialect, and a member that distinguishes them', () => {
    const valuesOf = (schema: Json, member: string): unknown[] | undefined => schema.properties[member].enum;
    const isExplained = (mark: string, from: Json, other: Json) =>
      from.required.includes(mark) &&
      (!(mark in other.properties) || valuesOf(from, mark)?.every((one) => !valuesOf(other, mark)!.includes(one)));
    const unions = read.operations.flatMap((of) =>
      Object.values(of.responses).flatMap(({ response }): Json[][] => {
        const { anyOf = [] } = response.content?.['application/json']?.schema.properties?.data ?? {};
        return anyOf.length > 0 ? [anyOf] : [];
      }),
    );
    expect(unions.length).toBeGreaterThan(8);
    const wrong = unions.flatMap((union) => {
      const answers = union.map(({ $ref }) => ({ name: String($ref), schema: read.resolve($ref) }));
      return answers
        .filter(({ name, schema }) => {
          const [, dialect, mark] = /^Dialect ([AB]), recognized by `(\w+)`\.$/.exec(schema.description) ?? [];
          if (!dialect || !name.endsWith(dialect)) return true;
          const others = answers.filter((one) => !one.name.endsWith(dialect));
          return others.length === 0 || !others.every((other) => isExplained(mark!, schema, other.schema));
        })
        .map(({ name, schema }) => `${name}: ${schema.description}`);
    });
    expect(wrong).toEqual([]);
  });

  test('has nothing that generators of clients stumble over', () => {
    const { schemas } = read.document.components;
    const nullable = Object.keys(schemas).filter((name) => [schemas[name].type].flat().includes('null'));
    expect(nullable).toEqual([]);
    // Nothing in which a generator loses an operation or a member, or of which it makes code that does not compile.
    const stumbles = (value: Json, path: string): string[] => {
      if (typeof value !== 'object' || value === null) return [];
      const kinds = (value.anyOf ?? value.oneOf ?? []).map(
        (one: Json) => (one.$ref ? read.resolve(one.$ref) : one).type,
      );
      const own = [
        value.allOf && 'allOf',
        kinds.includes('array') && kinds.includes('object') && 'a union of object and array',
        value.links &&
          Object.values<Json>(value.links).some(({ requestBody = '' }) => typeof requestBody !== 'string') &&
          'a link whose body is no text',
      ].filter(Boolean);
      const inner = Object.entries<Json>(value).filter(([name]) => name !== 'example' && name !== 'examples');
      return [
        ...own.map((what) => `${path}: ${what}`),
        ...inner.flatMap(([name, one]) => stumbles(one, `${path}/${name}`)),
      ];
    };
    expect(stumbles(read.document, '')).toEqual([]);
    // Their bodies cannot be left out.
    const paid = /^POST \/api\/(studio|chat|agents|voice)/;
    const optional = read.operations.filter(
      ({ endpoint, operation }) => paid.test(endpoint) && operation.requestBody?.required === false,
    );
    expect(optional.map(({ endpoint }) => endpoint)).toEqual([]);
    const values = [...text.matchAll(/"enum": \[([^\]]*)\]/g)].flatMap(([, list]) => JSON.parse(`[${list}]`));
    expect(values.length).toBeGreaterThan(50);
    // A value that begins with another sign has no name in a client: it is called VALUE_6 or the like.
    expect(values.filter((value) => typeof value === 'string' && !/^[A-Za-z]/.test(value))).toEqual([]);
  });
});
