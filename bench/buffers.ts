import type pg from 'pg';
import { plannerSettings } from '../src/platform/database/open-database.ts';
import { statements } from '../src/platform/database/sql.ts';

/** The tenant that is bound as the first two values of every statement of a scope. */
export type TenantValues = readonly [organizationId: string, environment: string];

/** What a page reads, as statements of the product with the values after the tenant's. */
export interface Read {
  name: string;
  values: readonly unknown[];
}

/** Buffers of 8 KiB that PostgreSQL reads for statements of the product, one after another, as the tenant. */
export async function buffersOf(client: pg.ClientBase, tenant: TenantValues, reads: readonly Read[]): Promise<number> {
  await client.query('begin');
  try {
    await client.query('set local role atelier_tenant');
    for (const setting of plannerSettings) await client.query(`set local ${setting}`);
    await client.query(
      `select set_config('atelier.organization_id', $1, true), set_config('atelier.environment', $2, true)`,
      [...tenant],
    );
    let buffers = 0;
    for (const { name, values } of reads) {
      const explain = `explain (analyze, buffers, format json) ${statements.get(name)?.text}`;
      const { rows } = await client.query(explain, [...tenant, ...values]);
      const { Plan } = rows[0]['QUERY PLAN'][0];
      buffers += Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
    }
    return buffers;
  } finally {
    await client.query('rollback');
  }
}

/** The single row that a statement of the product returns, as the tenant. */
export async function rowOf(
  client: pg.ClientBase,
  tenant: TenantValues,
  { name, values }: Read,
): Promise<Record<string, unknown>> {
  const { rows } = await client.query(statements.get(name)!.text, [...tenant, ...values]);
  return rows[0];
}
