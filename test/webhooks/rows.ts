import type { Database } from '../../src/platform/database/database.ts';
import { newId } from '../../src/platform/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';

interface Row {
  status?: string;
  eventType?: string;
  attempts?: number;
  createdAt?: string;
}

let lastMs = 0;
/** After that of the row before: of two rows of one millisecond either may come first in a list. */
function nextTime(): string {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return new Date(lastMs).toISOString();
}

/**
 * Writes a delivery of a webhook as it would have come to be, with an attempt behind it for each that it counts. It is
 * leased, so that no process makes another.
 * @returns its id
 */
export async function addDelivery(
  { pool }: Database,
  webhookId: string,
  { status = 'retrying', eventType = 'workflow.run.completed', attempts = 1, createdAt }: Row = {},
): Promise<string> {
  const [delivery, event, subscription] = [newId(), newId(), webhookIds.parse(webhookId)];
  const at = createdAt ?? nextTime();
  const run = { runId: event, automationId: event, name: 'Added', status: 'completed', durationMs: 1, tokensUsed: 1 };
  const facts = { ...run, webhookId: subscription, message: 'This is a test.' };
  const next = ['pending', 'retrying'].includes(status) ? '2100-01-01T00:00:00Z' : null;
  await pool.query(
    `insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at)
     select $1, organization_id, environment, $3, $1, $5, 'test', $4 from webhook_subscription where id = $2`,
    [event, subscription, eventType, at, facts],
  );
  await pool.query(
    `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, next_attempt_at, leased_until, status_code, response_body,
                           response_body_truncated, duration_ms, created_at)
     select $1, organization_id, environment, id, $3, $8, $4, $5, $5, $6::timestamptz, $6::timestamptz, 503, 'Busy.', false,
            12, $7
       from webhook_subscription where id = $2`,
    [delivery, subscription, event, status, attempts, next, at, eventType],
  );
  for (let number = 1; number <= attempts; number++) {
    await pool.query(
      `insert into delivery_attempt (delivery_id, number, organization_id, environment, started_at, duration_ms,
                                     status_code, response_body, response_body_truncated)
       select id, $2, organization_id, environment, created_at, 10 + $2, 503, 'Busy.', false from delivery where id = $1`,
      [delivery, number],
    );
  }
  return deliveryIds.format(delivery);
}

/** Where in the database a text stands in clear: names of tables. */
export async function tablesWith({ pool }: Database, text: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  const found = [];
  for (const { name } of rows) {
    // Bytes are shown in hexadecimal.
    const forms = [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64')];
    const { rowCount } = await pool.query(
      `select from "${name}" t where exists (select from unnest($1::text[]) form where strpos(t::text, form) > 0)`,
      [forms],
    );
    if (rowCount) found.push(name);
  }
  return found;
}
