import { expect, test } from '@jest/globals';
import { catalog } from '../../src/services.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import type { ApiClient } from '../api-client.ts';
import { hasErrorMessage } from '../openapi/document.ts';
import { brokenBody, type SharedWalk } from './shared-walk.ts';

/** What any key may call. */
const anyKey = /\/v1\/(health|credits|credits\/entries|usage|limits|search|tokens|models)$|\/performance\/vitals$/;

export function checkScopes(walk: SharedWalk): void {
  test('asks for the scope that it says it needs', async () => {
    const { organizationId } = walk.owner;
    const clients = new Map<string, ApiClient>();
    for (const without of catalog.scopes) {
      const scopes = catalog.scopes.filter((scope) => scope !== without);
      const { key } = await createKey(walk.product.database, { organizationId, environment: 'test', scopes });
      clients.set(without, walk.client(key));
    }
    await walk.changesNothing(async () => {
      for (const operation of walk.ofKeys.filter(({ method }) => method !== 'DELETE')) {
        const { endpoint: of, method, path, ownPath, scopes } = operation;
        const refusedWithout: string[] = [];
        for (const [without, client] of clients) {
          const { status, body } = await client.request(method, ownPath, brokenBody(operation));
          if (status === 403) {
            if (/\/voice\//.test(path)) expect(body.error).toBe('Forbidden');
            else if (hasErrorMessage(operation)) expect(body.error).toBe(`The key lacks the scope ${without}.`);
            else expect(body.error.details).toEqual({ required: without });
            refusedWithout.push(without);
          }
        }
        expect({ of, scopes: refusedWithout.toSorted() }).toEqual({ of, scopes: scopes.toSorted() });
        // What starts runs, now or later, needs the scope that executes.
        if (/\/(schedule|webhook-secret)$/.test(of)) expect(scopes.includes('runs:execute')).toBe(method !== 'GET');
      }
    });
    const withoutScope = walk.ofKeys.filter(({ scopes }) => scopes.length === 0).map(({ endpoint }) => endpoint);
    expect(withoutScope.filter((endpoint) => !anyKey.test(endpoint))).toEqual([]);
  });
}
