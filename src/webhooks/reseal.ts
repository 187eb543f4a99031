import type { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { type SealedColumn, sealedColumn } from './subscription-secrets.ts';

interface Row extends Tenant {
  id: string;
  secret: string;
  previousSecret: string | null;
  olderSecret: string | null;
  headers: string | null;
}

const findRows = statement<Row>(
  'subscription.sealed',
  `select id, organization_id as "organizationId", environment, sealed_secret as secret,
          sealed_previous_secret as "previousSecret", sealed_older_secret as "olderSecret", sealed_headers as headers
     from webhook_subscription where id > $1 order by id limit $2`,
);

// A row that was changed meanwhile was sealed with the current key.
const replace = (column: SealedColumn) =>
  statement<{ id: string }>(
    `subscription.reseal.${column}`,
    `update webhook_subscription set ${column} = $5
      where organization_id = $1 and environment = $2 and id = $3 and ${column} = $4 returning id`,
  );

const columns = [
  ['secret', 'sealed_secret'],
  ['previousSecret', 'sealed_previous_secret'],
  ['olderSecret', 'sealed_older_secret'],
  ['headers', 'sealed_headers'],
] as const;
const statements = new Map(columns.map(([, column]) => [column, replace(column)]));

const batch = 200;

/**
 * Reseals what was sealed with a key other than the first one, so that the other keys can be removed. It can be repeated,
 * and run while the product runs.
 * @returns how many texts were resealed
 * @throws SealError when a text was sealed with a key that the ring does not have
 */
export async function resealSubscriptions(database: Database, sealer: Sealer): Promise<number> {
  let resealed = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await sqlOn(database.pool).rows(findRows, [after, batch]);
    for (const { id, organizationId, environment, ...texts } of rows) {
      const tenant = { organizationId, environment };
      const scope = new Scope(database, tenant, 'reseal', 'operator');
      for (const [name, column] of columns) {
        const sealed = texts[name];
        if (sealed === null || !sealer.needsResealing(sealed)) continue;
        const place = sealedColumn(column, id, tenant);
        const anew = sealer.seal(sealer.open(sealed, place), place);
        if (await scope.one(statements.get(column)!, id, sealed, anew)) resealed++;
      }
    }
    if (rows.length < batch) return resealed;
    after = rows.at(-1)!.id;
  }
}
