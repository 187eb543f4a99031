import pg from 'pg';
import type { Stand } from './stand.ts';

/** Event types and states that are rare, and those that most deliveries have. */
export const types = { usual: 'workflow.run.completed', rare: 'api_key.expiring' };

/**
 * Deliveries of a webhook as the product would have recorded them, one each seven seconds, without their attempts. The
 * latest tenth waits, a third of the latest fifth is retried, one in thirteen is a dead letter, one in 5,003 failed. No
 * attempt is due.
 * @param subscription uuid
 */
export async function insertDeliveries(
  { databaseUrl }: Pick<Stand, 'databaseUrl'>,
  subscription: string,
  count: number,
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(
      `with made as (
         select now() - interval '2 minutes' - make_interval(secs => ($2::int - n) * 7) as created_at,
                case when n % 2 = 0 then 'workflow.run.started' when n % 97 = 1 then 'workflow.run.failed'
                     when n % 100003 = 1 then '${types.rare}' else '${types.usual}' end as type,
                case when n > $2::int * 0.8 and n % 3 = 0 then 'retrying' when n > $2::int * 0.9 then 'pending'
                     when n % 13 = 0 then 'dead_lettered' when n % 5003 = 0 then 'failed' else 'delivered' end as status
           from generate_series(1, $2::int) n),
       told as materialized (
         select made.*, uuidv7(created_at - now()) as id, uuidv7(created_at - now()) as event_id from made),
       events as (
         insert into event (id, organization_id, environment, type, facts, correlation_id, created_at)
         select event_id, s.organization_id, s.environment, type, '{}', 'bench', told.created_at
           from told, webhook_subscription s where s.id = $1)
       insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                             schedule_attempts, response_body_truncated, created_at, next_attempt_at, finished_at)
       select told.id, s.organization_id, s.environment, s.id, event_id, type, status, 1, 1, false, told.created_at,
              case when status in ('pending', 'retrying') then timestamptz '2100-01-01' end,
              case when status not in ('pending', 'retrying') then told.created_at end
         from told, webhook_subscription s where s.id = $1`,
      [subscription, count],
    );
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}
