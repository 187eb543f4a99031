import type pg from 'pg';
import { webhookIds } from '../src/webhooks/core/ids.ts';
import { deliveriesChannel } from '../src/webhooks/deliveries/publish-event.ts';
import type { ProductClient } from './product-client.ts';

/** As many attempts at once as a subscription may have. */
const concurrency = 64;

/** Subscribes a URL through the API. @returns the subscription's uuid */
export async function subscribe(client: ProductClient, url: string): Promise<string> {
  const body = { name: 'Bench', url, events: ['workflow.run.completed'], concurrency };
  const { id } = await client.post<{ id: string }>('/api/v1/webhooks', body);
  return webhookIds.parse(id)!;
}

/** Writes events with a delivery each, over the subscriptions in rotation, like the transaction that publishes them. */
export async function announceMany(pool: pg.Pool, subscriptions: readonly string[], count: number): Promise<void> {
  await pool.query(
    `with told as (
       select uuidv7() as id, s.id as subscription_id, s.organization_id, s.environment
         from generate_series(1, $2::int) n
         join unnest($1::uuid[]) with ordinality as chosen (id, position) on position = n % cardinality($1::uuid[]) + 1
         join webhook_subscription s on s.id = chosen.id),
     events as (
       insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at)
       select id, organization_id, environment, 'workflow.run.completed', null,
              json_build_object('runId', id, 'automationId', id, 'name', 'Bench', 'status', 'completed', 'durationMs', 1,
                                 'tokensUsed', 1), 'bench', now() from told),
     written as (
       insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                             schedule_attempts, next_attempt_at, response_body_truncated, created_at)
       select uuidv7(), organization_id, environment, subscription_id, id, 'workflow.run.completed', 'pending', 0, 0, now(), false, now() from told
       returning id)
     select count(*), pg_notify($3, '') from written`,
    [subscriptions, count, deliveriesChannel],
  );
}
