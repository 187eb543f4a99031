import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../api-client.ts';
import type { Product } from '../product.ts';
import { makeWorkflow } from './make-workflow.ts';

type Step = Record<string, unknown>;

/** Makes a workflow of these steps. @returns its id, as dialect A names it */
export async function makeFlow(_: Pick<Product, 'database'>, api: ApiClient, steps: Step[]): Promise<string> {
  const { id } = await makeWorkflow(api, { name: `Flow ${randomUUID()}`, steps });
  return id;
}
