import type { Database } from '../database/database.ts';
import { Scope } from '../database/scope.ts';
import { sqlOn, statement, systemStatement } from '../database/sql.ts';
import { typed } from '../database/sql-types.ts';
import type { Environment, Tenant } from '../tenant.ts';
import { SealError, type SealedPlace, type Sealer } from './crypto.ts';

/**
 * A table of tenants with sealed columns, each sealed for its own row by the uuid `id`. Data that is kept for a day at
 * most need not be declared: the old key stays that long.
 */
export interface SealedTable {
  table: string;
  /** Null without a sealed value. */
  columns: readonly string[];
}

/** A value that cannot be opened: it was sealed with a key that the ring does not have, or it was changed. */
export interface UnreadableValue extends Tenant {
  table: string;
  column: string;
  /** The id of the row. */
  id: string;
  /** For operators; names the key, never a secret. */
  reason: string;
}

export interface Resealed {
  /** How many values were resealed. */
  resealed: number;
  /** Values that were left unchanged. */
  unreadable: UnreadableValue[];
}

const batch = 200;

function statementsFor({ table, columns }: SealedTable) {
  const sealedTexts = Object.fromEntries(columns.map((column) => [column, 'text?' as const]));
  const find = systemStatement({
    name: `reseal.${table}`,
    parameters: { after: 'uuid', limit: 'int' },
    row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text'), ...sealedTexts },
    text: `select id, organization_id as "organizationId", environment, ${columns.join(', ')} from ${table}
      where id > :after order by id limit :limit`,
  });
  // A column that was changed meanwhile was sealed with the current key.
  const replace = (column: string) =>
    statement({
      name: `reseal.${table}.${column}`,
      parameters: { id: 'uuid', earlier: 'text', text: 'text' },
      row: { id: 'uuid' },
      text: `update ${table} set ${column} = :text
        where organization_id = :organizationId and environment = :environment and id = :id and ${column} = :earlier returning id`,
    });
  return { find, replacements: columns.map((column) => ({ column, replace: replace(column) })) };
}

/** @returns undefined where the current key sealed it, or why it cannot be opened */
function sealAnew(sealer: Sealer, text: string, place: SealedPlace): { text: string } | { reason: string } | undefined {
  try {
    return sealer.needsResealing(text) ? { text: sealer.seal(sealer.open(text, place), place) } : undefined;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return { reason: error.message };
  }
}

async function resealTable(
  database: Database,
  sealer: Sealer,
  sealed: SealedTable,
  unreadable: UnreadableValue[],
): Promise<number> {
  const { table } = sealed;
  const { find, replacements } = statementsFor(sealed);
  let resealed = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await sqlOn(database.pool).rows(find, { after, limit: batch });
    for (const { id, organizationId, environment, ...texts } of rows) {
      const tenant = { organizationId, environment };
      const scope = new Scope(database, tenant, 'reseal', 'operator');
      for (const { column, replace } of replacements) {
        const text = (texts as Record<string, string | null>)[column] ?? null;
        if (text === null) continue;
        const anew = sealAnew(sealer, text, { table, column, rowId: id, tenant });
        if (anew === undefined) continue;
        if ('reason' in anew) unreadable.push({ table, column, id, organizationId, environment, reason: anew.reason });
        else if (await scope.one(replace, { id, earlier: text, text: anew.text })) resealed++;
      }
    }
    if (rows.length < batch) return resealed;
    after = rows.at(-1)!.id;
  }
}

/**
 * Reseals values that were sealed with a key other than the first one, so that the other keys can be removed. It can be
 * repeated, and run while the product runs. A value that cannot be opened is left unchanged, and the others continue.
 */
export async function reseal(database: Database, sealer: Sealer, tables: readonly SealedTable[]): Promise<Resealed> {
  const unreadable: UnreadableValue[] = [];
  let resealed = 0;
  for (const table of tables) resealed += await resealTable(database, sealer, table, unreadable);
  return { resealed, unreadable };
}
