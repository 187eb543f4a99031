import type { RoleName } from '../../workers/roles.ts';
import type { Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

/**
 * What a dead process would have done right after its commits is left alone for five seconds, in case it lives. Tests that
 * know of its death end that time.
 */
export const endGrace = ({ database }: Product) =>
  database.pool.query('update outbox set available_at = least(available_at, clock_timestamp())');

/** Waits for the death of a process, and starts another one that takes its place. */
export async function successorOf(dead: ProductProcess, product: Product, roles: RoleName[]): Promise<ProductProcess> {
  let hasEnded = false;
  void dead.ended.then(() => {
    hasEnded = true;
  });
  await until('the process dies', async () => hasEnded);
  await endGrace(product);
  return product.start(roles);
}
