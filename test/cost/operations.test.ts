import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Json, ReadDocument } from '../openapi/document.ts';
import { type WalkedOperation, walkOperations } from '../walk/walked-operations.ts';
import { batchesOf, type Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { excessiveBodies, largestBodies, longText } from './worst-bodies.ts';

// Every operation, with bodies of a megabyte: far more than it takes alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
let read: ReadDocument;
/** Those that a key may call. The second prefix of an operation costs the same. */
let operations: WalkedOperation[];
let imageUrl: string;

beforeAll(async () => {
  product = await startMeasured();
  const walked = await walkOperations(product.api, product.database);
  read = walked.read;
  operations = walked.operations.filter(({ needsKey, path }) => needsKey && !path.startsWith('/v1/'));
  imageUrl = (await product.api.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
});
afterAll(() => product.close());

/** Their bodies, of some ten megabytes each, are in memory at the same time. */
const doorsTogether = 8;

const headersOf = (more: Record<string, string> = {}) =>
  Object.assign({ authorization: `Bearer ${product.testKey}` }, more);

const probe = (of: WalkedOperation, name: string, path: string, body?: string, headers = headersOf()): Probe => {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = { method: of.method, path, body, headers: Object.assign({}, type, headers) };
  return { input: { door: of.endpoint, name }, send: () => exchange(product.process.api, sent) };
};

/** The example of the document, with an image that exists. */
function exampleOf({ body }: WalkedOperation): Json {
  const example = body as Json;
  return example?.imageUrl === undefined ? example : Object.assign({}, example, { imageUrl });
}

test('bodies are as cheap as the table says: the largest that are allowed, and those that no operation takes', async () => {
  let accepted = 0;
  for (const few of batchesOf([...operations.entries()], doorsTogether)) {
    const probes: Probe[] = [];
    for (const [index, of] of few) {
      const example = exampleOf(of);
      if (example === undefined) continue;
      const path = of.ownPath;
      await exchange(product.process.api, {
        method: of.method,
        path,
        body: JSON.stringify(example),
        headers: headersOf({ 'content-type': 'application/json' }),
      });
      const bodies = [...largestBodies(of, example, read), ...excessiveBodies(of, example, read, index)];
      probes.push(...bodies.map(({ name, body }) => probe(of, name, path, body)));
    }
    const outcomes = await product.walk.sendAll(probes);
    accepted += outcomes.filter(({ status = 0 }) => status < 300).length;
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
  expect(accepted).toBeGreaterThan(20);
});

/** The value of a parameter that asks for most, and one that is longer than any should be. */
function largestValue({ schema, example }: Json): string {
  if (schema?.maximum !== undefined) return String(schema.maximum);
  return String(example ?? schema?.enum?.at(-1) ?? schema?.default ?? longText(schema?.maxLength ?? 100));
}

test('parameters are as cheap as the table says', async () => {
  const probes = operations.flatMap((of) => {
    const path = of.ownPath;
    const query = of.parameters.filter((one) => one.in === 'query');
    const body = of.operation.requestBody ? '{}' : undefined;
    const largest = new URLSearchParams(query.map((one): [string, string] => [one.name, largestValue(one)]));
    const names = query.length > 0 ? query.map(({ name }) => name as string) : ['x'];
    const each = Math.floor(3_000 / names.length);
    const long = new URLSearchParams(names.map((name): [string, string] => [name, longText(each)]));
    const headers = headersOf({ 'x-correlation-id': 'c'.repeat(6_000), 'idempotency-key': 'i'.repeat(6_000) });
    const longId = path.replace(/[^/]+$/, `${'a-'.repeat(6_000)}`);
    return [
      ...(of.method === 'GET' ? [probe(of, 'the largest parameters', `${path}?${largest}`)] : []),
      probe(of, 'long parameters', `${path}?${String(long).slice(0, 14_000)}`, body),
      probe(of, 'a parameter repeated', `${path}?${`${names[0]}=1&`.repeat(2_000).slice(0, 14_000)}`, body),
      probe(of, 'long headers', path, body, headers),
      ...(of.path.includes('{') ? [probe(of, 'a long id', longId, body)] : []),
    ];
  });
  for (const some of batchesOf(probes, 50)) await product.walk.sendAll(some);
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});
