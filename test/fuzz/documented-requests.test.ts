import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { pathOf, type ReadDocument, readDocument } from '../openapi/document.ts';
import { sharedProduct } from '../product.ts';
import { mutated, valid } from './schema-arbitrary.ts';

// Every operation is asked many times, and others may use the machine too.
jest.setTimeout(300_000);

let product: Awaited<ReturnType<typeof sharedProduct>>;
let client: ApiClient;
let read: ReadDocument;
let workflowId: string;
let webhookId: string;

beforeAll(async () => {
  product = await sharedProduct();
  const { id } = await createOrganization(product.database, {
    name: 'Fuzz',
    plan: 'enterprise',
    rateMinute: 1_000_000,
  });
  client = apiClient(
    product.process.api,
    (await createKey(product.database, { organizationId: id, environment: 'test' })).key,
  );
  read = readDocument((await client.get('/openapi.json')).body);
  workflowId = (await client.post('/api/v1/workflows', { name: 'Target' })).body.data.id;
  const webhook = { name: 'Target', url: 'https://hooks.example.com', events: ['*'] };
  webhookId = (await client.post('/api/v1/webhooks', webhook)).body.data.id;
});
afterAll(() => product.close());

// The seed is in the report of a failure, with the path to the smallest counterexample: fast-check prints both.
const seed = Date.now() % 2 ** 31;
const runs = { numRuns: 40, seed, endOnFailure: false } as const;
/** A POST to the id alone starts a workflow. */
const things = () => [
  { prefix: /^POST \S*\/v1\/webhooks\/\{id\}$/, parameter: 'id', id: workflowId },
  { prefix: /\/webhooks\/\{id\}/, parameter: 'id', id: webhookId },
  { prefix: /\/webhooks\/\{id\}/, parameter: 'deliveryId', id: webhookId },
  { prefix: /./, parameter: 'id', id: workflowId },
];

/** Every operation below `/api/v1` that takes a body, with the schema of its body. */
const operations = () =>
  read.operations
    .filter(({ path, operation }) => path.startsWith('/api/v1/') && operation.requestBody?.content['application/json'])
    .map((of) => ({
      method: of.method,
      path: pathOf(of, things()),
      schema: of.operation.requestBody.content['application/json'].schema,
    }));

// Every answer is also held against the document by the client itself.
test('bodies that the document allows break nothing', async () => {
  for (const { method, path, schema } of operations()) {
    await fc.assert(
      fc.asyncProperty(valid(schema, read.resolve), async (body) => {
        const { status } = await client.request(method, path, body);
        expect({ method, path, status }).not.toMatchObject({ status: 500 });
        expect(status).toBeLessThan(504);
      }),
      runs,
    );
  }
});

test('bodies with one thing wrong are taken or refused in words, and break nothing', async () => {
  for (const { method, path, schema } of operations()) {
    await fc.assert(
      fc.asyncProperty(valid(schema, read.resolve).chain(mutated), async (body) => {
        const { status, body: answer } = await client.request(method, path, body);
        if (status === 400) expect(answer.error).toMatchObject({ message: expect.any(String) });
        expect({ method, path, status }).not.toMatchObject({ status: 500 });
      }),
      runs,
    );
  }
});

test('any text at all as a body, an id or a query is answered and breaks nothing', async () => {
  const junk = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.json());
  const paths = ['/api/v1/workflows/', '/v1/runs/', '/api/v1/workflows?limit=', '/api/v1/workflows?status=', '/v1/'];
  await fc.assert(
    fc.asyncProperty(junk, fc.constantFrom(...paths), async (text, path) => {
      const asPath = await client.get(`${path}${encodeURIComponent(text.toWellFormed())}`);
      expect(asPath.status).toBeLessThan(500);
      const asBody = await client.post('/api/v1/workflows', text.toWellFormed() === '' ? '{}' : text.toWellFormed());
      expect(asBody.status).toBeLessThan(500);
    }),
    { ...runs, numRuns: 150 },
  );
});
