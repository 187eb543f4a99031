import pg from 'pg';

/**
 * Does work while a statement's locks are held. The session is the superuser's: PostgreSQL ends those of the product when a
 * transaction of theirs is idle for some seconds, which work on a busy machine may take.
 * @param sql such as `lock table run in exclusive mode`
 * @param work may use the session, which is in the transaction that holds the locks
 */
export async function whileHeld<Result>(
  { ownerUrl }: { ownerUrl: string },
  sql: string,
  work: (holder: pg.Client) => Promise<Result>,
): Promise<Result> {
  const holder = new pg.Client({ connectionString: ownerUrl });
  await holder.connect();
  try {
    await holder.query(`begin; ${sql}`);
    return await work(holder);
  } finally {
    // Its end rolls the transaction back.
    await holder.end();
  }
}
