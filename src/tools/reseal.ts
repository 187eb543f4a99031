import type { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { sealedSecretsOf } from './secrets.ts';

const findRows = statement<Tenant & { id: string; sealed: string }>(
  'tool_configuration.sealed',
  `select id, organization_id as "organizationId", environment, sealed_secrets as sealed
     from tool_configuration where id > $1 and sealed_secrets is not null order by id limit $2`,
);
// A row that was changed meanwhile was sealed with the current key.
const replace = statement<{ id: string }>(
  'tool_configuration.reseal',
  `update tool_configuration set sealed_secrets = $5
    where organization_id = $1 and environment = $2 and id = $3 and sealed_secrets = $4 returning id`,
);

const batch = 200;

/**
 * Seals the secrets of tool servers anew that were sealed with another key than the first one. It can be repeated, and run
 * while the product runs.
 * @returns how many texts were sealed anew
 * @throws SealError when a text was sealed with a key that the ring does not have
 */
export async function resealToolSecrets(database: Database, sealer: Sealer): Promise<number> {
  let resealed = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await sqlOn(database.pool).rows(findRows, [after, batch]);
    for (const { id, organizationId, environment, sealed } of rows) {
      if (!sealer.needsResealing(sealed)) continue;
      const tenant = { organizationId, environment };
      const place = sealedSecretsOf(id, tenant);
      const anew = sealer.seal(sealer.open(sealed, place), place);
      if (await new Scope(database, tenant, 'reseal', 'operator').one(replace, id, sealed, anew)) resealed++;
    }
    if (rows.length < batch) return resealed;
    after = rows.at(-1)!.id;
  }
}
