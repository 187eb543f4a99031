import pg from 'pg';
import type { Database } from '../../src/platform/database/database.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';

export const types = ['workflow.run.started', 'workflow.run.completed', 'workflow.run.failed'];
export const perBlock = 150;

/**
 * Deliveries of the last hours, one each second, and of 92 days ago before them. Most are delivered and few of a type
 * failed; every 150th ends a block.
 */
export async function seedDeliveries({ pool }: Database, webhook: string, count: number, old: number): Promise<void> {
  await pool.query(
    `with given as (
       select n, $2::int - n as age, n <= $3::int as is_old from generate_series(1, $2::int) n),
     made as (
       select n, created_at, (left(uuidv7(created_at - now())::text, 32) || case when n % ${perBlock} = 0 then '0000' else 'ffff' end)::uuid as id,
              uuidv7(created_at - now()) as event_id,
              case when n % 7 = 0 then '${types[0]}' when n % 389 = 0 then '${types[2]}' else '${types[1]}' end as type,
              case when n % 11 = 0 then 'pending' when n % 13 = 0 then 'dead_lettered' when n % 17 = 0 then 'retrying'
                   when n % 401 = 0 then 'failed' else 'delivered' end as status
         from given cross join lateral (
           select now() - interval '2 minutes' - make_interval(days => case when is_old then 92 else 0 end, secs => age) as created_at) at),
     events as (
       insert into event (id, organization_id, environment, type, facts, correlation_id, created_at)
       select event_id, organization_id, environment, type,
              '{"runId": "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000", "automationId": "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001", "name": "N", "status": "failed", "durationMs": 1, "tokensUsed": 1}',
              'many', made.created_at from made, webhook_subscription where webhook_subscription.id = $1)
     insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, response_body_truncated, created_at, next_attempt_at, finished_at)
     select made.id, organization_id, environment, s.id, event_id, type, status, 1, 1, false, made.created_at,
            case when status in ('pending', 'retrying') then timestamptz '2100-01-01' end,
            case when status not in ('pending', 'retrying') then made.created_at end
       from made, webhook_subscription s where s.id = $1`,
    [webhookIds.parse(webhook), count, old],
  );
}

/** As its owner, as autovacuum does in time. */
export async function analyze({ ownerUrl }: { ownerUrl: string }): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query('vacuum analyze');
  await client.end();
}
