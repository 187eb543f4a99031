import { afterAll, beforeAll } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { createKey } from '../../src/tenancy/keys.ts';
import type { ApiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { connect, type Revision } from './clients.ts';

/** A tenant of a shared product, and official clients of it. */
export interface McpScene {
  product: StartedProduct;
  api: ApiClient;
  /** Where the product is. */
  base: string;
  key: string;
  keyWith(...scopes: string[]): Promise<string>;
  /** A client that is closed with the file. */
  connected(revision: Revision, as?: string): Promise<Client>;
}

/** Opens the scene before the tests of a file, and closes it after them. */
export function openMcpScene(): McpScene {
  const scene = {} as McpScene;
  const clients: Client[] = [];
  beforeAll(async () => {
    const product = await sharedProduct();
    const { organizationId, testKey: key } = product.tenant;
    const base = product.process.api;
    Object.assign(scene, {
      product,
      api: product.api,
      base,
      key,
      keyWith: async (...scopes: string[]) =>
        (await createKey(product.database, { organizationId, environment: 'test', scopes })).key,
      async connected(revision: Revision, as = key) {
        const client = await connect(base, as, revision);
        clients.push(client);
        return client;
      },
    });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await scene.product.close();
  });
  return scene;
}

/** A workflow that declares what it takes. */
export const greet = {
  name: 'Greet',
  description: 'Greets a person.',
  inputs: [
    { name: 'who', type: 'string', required: true, description: 'Whom to greet.' },
    { name: 'times', type: 'number', required: false, default: 1 },
  ],
  steps: [
    { id: 'greet', type: 'transform', expression: '{"greeting": "Hello " + variables.who, "times": variables.times}' },
  ],
};

/** A workflow whose output is the answer of a person. */
export const approve = (form?: object, more: object = {}) => ({
  steps: [
    { id: 'ask', type: 'approval', message: 'Refund?', ...(form && { form }), ...more },
    { id: 'say', type: 'transform', expression: 'steps.ask.output' },
  ],
});
