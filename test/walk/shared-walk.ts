import { expect } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import type { ReadDocument, Things } from '../openapi/document.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { type WalkedOperation, walkOperations } from './walked-operations.ts';

/** A reviver of JSON. A series has a point for each hour up to now, also for those in which nothing happened. */
const withoutEmptyPoints = (name: string, value: unknown) =>
  name === 'series' && Array.isArray(value)
    ? value.filter(({ at: _, ...counts }) => Object.values(counts).some(Boolean))
    : value;

/** The walk of all operations: the product, its tenants, and the operations with the resources of the owner. */
export class SharedWalk {
  product!: StartedProduct;
  base!: string;
  owner!: Tenant;
  stranger!: Tenant;
  read!: ReadDocument;
  things!: Things;
  /** Every operation that needs a key or a session, below each prefix. */
  operations!: WalkedOperation[];

  async open(): Promise<void> {
    this.product = await sharedProduct();
    this.base = this.product.process.api;
    this.owner = await this.#newTenant();
    this.stranger = await this.#newTenant();
    const { database } = this.product;
    Object.assign(this, await walkOperations(this.client(this.owner.testKey), database));
    // A calendar with access would change by itself: the product syncs it from time to time.
    await database.pool.query(`update calendar set status = 'auth_expired' where organization_id = $1`, [
      organizationIds.parse(this.owner.organizationId),
    ]);
  }

  close(): Promise<void> {
    return this.product.close();
  }

  /** A tenant that may send as many requests a minute as the walk does. */
  async #newTenant(): Promise<Tenant> {
    const { database } = this.product;
    const plan = { plan: 'enterprise', rateMinute: 1_000_000 };
    const { id: organizationId } = await createOrganization(database, { name: 'Walk', ...plan });
    const keyOf = async (environment: string) => (await createKey(database, { organizationId, environment })).key;
    return { organizationId, testKey: await keyOf('test'), liveKey: await keyOf('live') };
  }

  client(key?: string): ApiClient {
    return apiClient(this.base, key);
  }

  /** The operations that a key may call. */
  get ofKeys(): WalkedOperation[] {
    return this.operations.filter(({ needsKey }) => needsKey);
  }

  /** Sends a request that the operation accepts, unless its caller or another path is a reason to refuse it. */
  call(client: ApiClient, { method, ownPath, body }: WalkedOperation, path = ownPath): Promise<Answer> {
    return client.request(method, path, body);
  }

  /** Performs requests, after which the owner sees the same as before. */
  async changesNothing(requests: () => Promise<void>): Promise<void> {
    const before = await this.#ownersView();
    await requests();
    expect(await this.#ownersView()).toEqual(before);
  }

  /** Everything that the owner can see. */
  async #ownersView(): Promise<unknown> {
    const client = this.client(this.owner.testKey);
    const reads = this.ofKeys.filter(({ method, path }) => method === 'GET' && path.startsWith('/api'));
    const seen = [];
    // The log of changes has what the owner's other environment did, too.
    for (const operation of reads.filter(({ path }) => !path.endsWith('/audit-log'))) {
      const { status, body } = await this.call(client, operation);
      // Reading is a request too, and is counted as one.
      const { requests: _, ...data } = body.data ?? {};
      // Addresses of files are signed anew for each answer.
      const text = JSON.stringify(data)
        .replaceAll(/\?expires=\d+&signature=[\w-]+/g, '')
        // A cursor is a point in time, and each use of a key is noted.
        .replaceAll(/"nextCursor":"[\w-]{32}"|"lastUsedAt":("[^"]*"|null)/g, '"x":0')
        // Reading counts in the windows of requests. What else is used is seen where it is listed.
        .replaceAll(/"used":\d+|"resetsAt":"[^"]*"/g, '"x":0');
      seen.push({ endpoint: operation.endpoint, status, data: JSON.parse(text, withoutEmptyPoints) });
    }
    return seen;
  }
}

/** What no route may read before it knows the caller. */
export const brokenBody = ({ method }: WalkedOperation) => (method === 'GET' ? undefined : '{not json');
