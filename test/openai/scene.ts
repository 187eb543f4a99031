import { afterAll, beforeAll } from '@jest/globals';
import { OpenAI } from 'openai';
import { createKey } from '../../src/tenancy/keys.ts';
import type { ApiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';

/** A tenant of a shared product, and the official client of it. */
export interface OpenaiScene {
  product: StartedProduct;
  api: ApiClient;
  base: string;
  key: string;
  client: OpenAI;
  clientOf(key: string): OpenAI;
  keyWith(...scopes: string[]): Promise<string>;
}

/** Opens the scene before the tests of a file, and closes it after them. */
export function openOpenaiScene(): OpenaiScene {
  const scene = {} as OpenaiScene;
  beforeAll(async () => {
    const product = await sharedProduct();
    const { organizationId, testKey: key } = product.tenant;
    const base = product.process.api;
    const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${base}/openai/v1`, apiKey, maxRetries: 0 });
    Object.assign(scene, {
      product,
      api: product.api,
      base,
      key,
      client: clientOf(key),
      clientOf,
      keyWith: async (...scopes: string[]) =>
        (await createKey(product.database, { organizationId, environment: 'test', scopes })).key,
    });
  });
  afterAll(() => scene.product.close());
  return scene;
}

/** What a request was refused with. */
export async function refusalOf(request: Promise<unknown>): Promise<object> {
  const error = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`Expected a refusal, not ${error}.`);
  const { status, code, param, type } = error;
  return { status, code, param, type };
}
