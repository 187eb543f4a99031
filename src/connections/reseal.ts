import type { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { type SealedColumn, sealedColumn } from './sealed-tokens.ts';

interface Row extends Tenant {
  id: string;
  access: string | null;
  refresh: string | null;
}

const findRows = statement<Row>(
  'connection.sealed',
  `select id, organization_id as "organizationId", environment, sealed_access_token as access,
          sealed_refresh_token as refresh
     from oauth_connection where id > $1 order by id limit $2`,
);

// What was changed meanwhile was sealed with the current key.
const replace = (column: SealedColumn) =>
  statement<{ id: string }>(
    `connection.reseal.${column}`,
    `update oauth_connection set ${column} = $5
      where organization_id = $1 and environment = $2 and id = $3 and ${column} = $4 returning id`,
  );

const columns = [
  ['access', 'sealed_access_token', replace('sealed_access_token')],
  ['refresh', 'sealed_refresh_token', replace('sealed_refresh_token')],
] as const;

const batch = 200;

/**
 * Reseals tokens that were sealed with a key other than the first one. It can be repeated, and run while the product runs.
 * @returns how many texts were resealed
 * @throws SealError when a text was sealed with a key that the ring does not have
 */
export async function resealConnections(database: Database, sealer: Sealer): Promise<number> {
  let resealed = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await sqlOn(database.pool).rows(findRows, [after, batch]);
    for (const { id, organizationId, environment, ...texts } of rows) {
      const tenant = { organizationId, environment };
      const scope = new Scope(database, tenant, 'reseal', 'operator');
      for (const [name, column, statementOf] of columns) {
        const sealed = texts[name];
        if (sealed === null || !sealer.needsResealing(sealed)) continue;
        const place = sealedColumn(column, id, tenant);
        const anew = sealer.seal(sealer.open(sealed, place), place);
        if (await scope.one(statementOf, id, sealed, anew)) resealed++;
      }
    }
    if (rows.length < batch) return resealed;
    after = rows.at(-1)!.id;
  }
}
