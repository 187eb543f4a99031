import { actionRunIds } from '../../src/integrations/core/ids.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import type { ThingsOf } from '../openapi/document.ts';

/** Every tenant has each integration and its events, and no tenant has another's connection or webhook of it. */
export const integrationThings: ThingsOf = async ({ client, database }) => {
  const given = { event: 'message_received', url: 'https://hooks.example.com/slack' };
  const webhook = (await client.post('/api/v1/integrations/slack/webhooks', given)).body.data.id;
  // A delayed action that was cancelled.
  const { rows } = await database.pool.query(
    `insert into integration_action (id, organization_id, environment, integration, action, account_id, status, repeatable,
            due_at, delayed, attempts, paused_ms, correlation_id, created_at, finished_at)
     select gen_random_uuid(), organization_id, environment, 'linkedin', 'send_connection', 'x', 'cancelled', true,
            clock_timestamp(), true, 0, 0, 'x', clock_timestamp(), clock_timestamp()
       from webhook_subscription where id = $1
     returning id`,
    [webhookIds.parse(webhook)],
  );
  return [
    { prefix: /\/v1\/integrations\//, parameter: 'actionRunId', id: actionRunIds.format(rows[0].id) },
    { prefix: /\/v1\/integrations\//, parameter: 'integrationId', id: 'slack' },
    { prefix: /\/v1\/integrations\//, parameter: 'actionId', id: 'send_message' },
    { prefix: /\/v1\/integrations\//, parameter: 'event', id: 'message_received' },
    { prefix: /\/v1\/integrations\//, parameter: 'webhookId', id: webhook },
  ];
};
