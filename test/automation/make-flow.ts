import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../api-client.ts';
import type { Product } from '../product.ts';
import { makeWorkflow } from './make-workflow.ts';

type Step = Record<string, unknown>;

/** Makes a workflow of these steps. @returns its id, as dialect A names it */
export async function makeFlow(product: Pick<Product, 'database'>, api: ApiClient, steps: Step[]): Promise<string> {
  const { id } = await makeWorkflow(api, `{{input}} ${randomUUID()}`);
  await product.database.pool.query(
    `update definition set steps = $2::json where id = (select definition_id from automation where id = $1)`,
    [id, JSON.stringify(steps)],
  );
  return id;
}
