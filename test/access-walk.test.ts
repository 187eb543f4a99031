import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { catalog } from '../src/services.ts';
import { createKey, revokeKey } from '../src/tenancy/keys.ts';
import { type Answer, type ApiClient, apiClient } from './api-client.ts';
import {
  atEveryPrefix,
  type DocumentedOperation,
  exampleBody,
  hasErrorMessage,
  pathOf,
  readDocument,
  type Things,
} from './openapi/document.ts';
import { secrets } from './operator.ts';
import { openProduct, type Product, type Tenant } from './product.ts';
import { createThings } from './things.ts';
import { until } from './until.ts';

// Every route, with every kind of key: far more than it takes alone, as others may use the machine too.
jest.setTimeout(240_000);

let product: Product;
let api: string;
let owner: Tenant;
let stranger: Tenant;
let operations: DocumentedOperation[];
let things: Things;

beforeAll(async () => {
  product = await openProduct({ env: secrets });
  api = (await product.start(['api', 'runs', 'generation'])).api;
  owner = await product.createTenant({ plan: 'enterprise' });
  stranger = await product.createTenant({ plan: 'enterprise' });
  const read = readDocument((await apiClient(api).get('/openapi.json')).body);
  operations = atEveryPrefix(read.operations.filter(({ needsKey }) => needsKey));
  things = await createThings(apiClient(api, owner.testKey), product.database);
});
afterAll(() => product.close());

const call = (client: ApiClient, operation: DocumentedOperation, of = things) =>
  client.request(operation.method, pathOf(operation, of), exampleBody(operation));

/** What no route may look at before it knows who asks. */
const brokenBody = ({ method }: DocumentedOperation) => (method === 'GET' ? undefined : '{not json');

/** An address may fail 100 times a minute. The tests speak from a trusted proxy, so each operation has one of its own. */
const addressOf = (index: number) => `198.51.${100 + Math.floor(index / 250)}.${1 + (index % 250)}`;

/** A reviver of JSON. A series has a point for each hour up to now, also for those in which nothing happened. */
const withoutEmptyPoints = (name: string, value: unknown) =>
  name === 'series' && Array.isArray(value)
    ? value.filter(({ at: _, ...counts }) => Object.values(counts).some(Boolean))
    : value;

/** Everything the owner can see, to be the same after every attempt. */
async function ownersView(): Promise<unknown> {
  const client = apiClient(api, owner.testKey);
  const seen = [];
  const reads = operations.filter(({ method, path }) => method === 'GET' && path.startsWith('/api'));
  // The log of changes has what the owner's other environment did, too.
  for (const operation of reads.filter(({ path }) => !path.endsWith('/audit-log'))) {
    const { status, body } = await call(client, operation);
    // Looking is a request too, and is counted as one.
    const { requests: _, ...data } = body.data ?? {};
    // Addresses of files are signed anew for each answer.
    const text = JSON.stringify(data)
      .replaceAll(/\?expires=\d+&signature=[\w-]+/g, '')
      // A cursor is a point in time, and each use of a key is noted.
      .replaceAll(/"nextCursor":"[\w-]{32}"|"lastUsedAt":("[^"]*"|null)/g, '"x":0')
      // Looking counts in the windows of requests. What else is used is seen where it is listed.
      .replaceAll(/"used":\d+|"resetsAt":"[^"]*"/g, '"x":0');
    seen.push({ endpoint: operation.endpoint, status, data: JSON.parse(text, withoutEmptyPoints) });
  }
  return seen;
}

/** A body without what is different in every answer. */
const comparable = ({ status, body }: Answer, ids: string[]) => ({
  status,
  body: ids
    .reduce((text, id) => text.replaceAll(id, '<id>'), JSON.stringify(body))
    .replace(/"requestId":"[^"]+"/, '"requestId":"<request>"'),
});

describe('every route that needs a key', () => {
  test('is there to be walked', () => {
    expect(operations.length).toBeGreaterThanOrEqual(50);
    expect(operations.map((operation) => pathOf(operation, things)).filter((path) => path.includes('{'))).toEqual([]);
  });

  test('refuses no key, a bad one, an expired and a revoked one, before it looks at anything else', async () => {
    const { database } = product;
    const { organizationId } = owner;
    const expiring = await createKey(database, {
      organizationId,
      environment: 'test',
      expires: new Date(Date.now() + 1_500).toISOString(),
    });
    const revoked = await createKey(database, { organizationId, environment: 'test' });
    await revokeKey(database, revoked.id);
    await until('the key expires', async () => Date.parse(expiring.expiresAt!) < Date.now());
    const keys: [string | undefined, string][] = [
      [undefined, 'missing_api_key'],
      ['sk_test_nonsense', 'invalid_api_key'],
      [expiring.key, 'expired_api_key'],
      [revoked.key, 'invalid_api_key'],
    ];
    const before = await ownersView();
    for (const [key, reason] of keys) {
      const client = apiClient(api, key);
      for (const [index, operation] of operations.entries()) {
        const path = pathOf(operation, things);
        const headers = { 'x-forwarded-for': addressOf(index) };
        const { status, body } = await client.request(operation.method, path, brokenBody(operation), headers);
        expect({ of: operation.endpoint, status, error: body.error }).toMatchObject({
          of: operation.endpoint,
          status: 401,
          error: hasErrorMessage(operation) ? 'Unauthorized' : { code: 'unauthorized', details: { reason } },
        });
      }
    }
    expect(await ownersView()).toEqual(before);
  });

  test('asks for the scope that it says it needs', async () => {
    const { database } = product;
    const clients = new Map<string, ApiClient>();
    for (const without of catalog.scopes) {
      const scopes = catalog.scopes.filter((scope) => scope !== without);
      const { key } = await createKey(database, {
        organizationId: owner.organizationId,
        environment: 'test',
        scopes,
      });
      clients.set(without, apiClient(api, key));
    }
    const before = await ownersView();
    for (const operation of operations.filter(({ method }) => method !== 'DELETE')) {
      const refusedWithout: string[] = [];
      for (const [without, client] of clients) {
        const { status, body } = await client.request(
          operation.method,
          pathOf(operation, things),
          brokenBody(operation),
        );
        if (status === 403) {
          if (/\/voice\//.test(operation.path)) expect(body.error).toBe('Forbidden');
          else if (hasErrorMessage(operation)) expect(body.error).toBe(`The key lacks the scope ${without}.`);
          else expect(body.error.details).toEqual({ required: without });
          refusedWithout.push(without);
        }
      }
      const { endpoint: of, scopes } = operation;
      expect({ of, scopes: refusedWithout.toSorted() }).toEqual({ of, scopes: scopes.toSorted() });
      // What starts runs, now or later, needs the scope that executes.
      if (/\/(schedule|webhook-secret)$/.test(of)) expect(scopes.includes('runs:execute')).toBe(!of.startsWith('GET'));
    }
    expect(await ownersView()).toEqual(before);
    const anyKey = /\/v1\/(health|credits|credits\/entries|usage|limits|search|tokens|models)$|\/performance\/vitals$/;
    const withoutScope = operations.filter(({ scopes }) => scopes.length === 0).map(({ endpoint }) => endpoint);
    expect(withoutScope.filter((endpoint) => !anyKey.test(endpoint))).toEqual([]);
  });

  test.each(['another organization', 'the other environment'])('shows nothing of its things to %s', async (who) => {
    const key = who === 'another organization' ? stranger.testKey : owner.liveKey;
    const client = apiClient(api, key);
    const before = await ownersView();
    // Ids of catalogues are everybody's: what another organization does with one changes nothing here.
    const everybodys = ['serverId', 'integrationId', 'event', 'type', 'actionId', 'secretName'];
    const namesOf = ({ path }: DocumentedOperation) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const ofEverybody = operations.filter((operation) => {
      const names = namesOf(operation);
      return names.length > 0 && names.every((name) => everybodys.includes(name));
    });
    for (const operation of ofEverybody) {
      const { status } = await call(client, operation);
      if (operation.path.includes('{serverId}')) expect(status).toBe(200);
      else expect(status).not.toBe(500);
    }
    expect(await ownersView()).toEqual(before);
    const ofOne = operations.filter((operation) => operation.path.includes('{') && !ofEverybody.includes(operation));
    for (const operation of ofOne) {
      const random = things.map((thing) =>
        everybodys.includes(thing.parameter) ? thing : { ...thing, id: randomUUID() },
      );
      const [foreign, unknown] = [await call(client, operation), await call(client, operation, random)];
      // A number of a version is no id that an answer could reveal.
      const ids = [...things, ...random].map(({ id }) => id).filter((id) => id.length > 3);
      expect({ of: operation.endpoint, status: foreign.status }).toEqual({ of: operation.endpoint, status: 404 });
      expect(comparable(foreign, ids)).toEqual(comparable(unknown, ids));
    }
    expect(await ownersView()).toEqual(before);
  });
});
