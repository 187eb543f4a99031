import { openProductDatabase } from '../src/services.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization } from '../src/tenancy/organizations.ts';
import { ProductClient } from './product-client.ts';
import { type Stand, unlimited } from './stand.ts';

/** A client with a key of an organization of its own, beside the stand's. */
export async function openNeighbour({ databaseUrl, api }: Stand): Promise<ProductClient> {
  const database = await openProductDatabase(databaseUrl, 1);
  try {
    const { id } = await createOrganization(database, { name: 'Neighbour', plan: 'enterprise', ...unlimited });
    const { key } = await createKey(database, { organizationId: id, environment: 'test' });
    return new ProductClient(api, key);
  } finally {
    await database.close();
  }
}
