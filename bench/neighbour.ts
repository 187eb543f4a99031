import { openProductDatabase } from '../src/services.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../src/tenancy/organizations.ts';
import { ProductClient } from './product-client.ts';
import { type Stand, unlimited } from './stand.ts';

/** Another organization. */
export interface Neighbour {
  organizationId: string;
  /** A test key. */
  key: string;
}

/** With the limits of the largest plan that anybody can buy; with `unlimited`, whose requests are not limited. */
export async function createNeighbour(
  { databaseUrl }: Stand,
  limits: 'of its plan' | 'unlimited' = 'of its plan',
): Promise<Neighbour> {
  const database = await openProductDatabase(databaseUrl, 1);
  try {
    const plan = limits === 'unlimited' ? { plan: 'enterprise', ...unlimited } : { plan: 'team' };
    const { id } = await createOrganization(database, { name: 'Neighbour', ...plan });
    return { organizationId: id, key: (await createKey(database, { organizationId: id, environment: 'test' })).key };
  } finally {
    await database.close();
  }
}

/** From now on its requests are not limited. */
export async function liftLimits({ databaseUrl }: Stand, { organizationId }: Neighbour): Promise<void> {
  const database = await openProductDatabase(databaseUrl, 1);
  try {
    await updateOrganization(database, organizationId, unlimited);
  } finally {
    await database.close();
  }
}

/** A client of another organization whose requests are not limited. */
export async function openNeighbour(stand: Stand): Promise<ProductClient> {
  return new ProductClient(stand.api, (await createNeighbour(stand, 'unlimited')).key);
}
