import pg from 'pg';

/** Performs statements as the superuser of a product's database: what the product itself may not do. */
export async function asOwner({ ownerUrl }: { ownerUrl: string }, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}
