import type { Database } from '../../src/platform/database/database.ts';
import { addDelivery } from '../webhooks/rows.ts';
import { askThrice, type Caller } from './caller.ts';

const given = { name: 'Contract', url: 'https://hooks.example.com/x', events: ['workflow.run.completed'] };
const manyWrong = { name: '', url: 'ftp://x', events: [], maxAttempts: 0, headers: { Host: 5 }, rateLimit: 0 };

/** Subscriptions and their deliveries. The process delivers nothing, so that every delivery stays as it was written. */
export async function recordWebhooks(caller: Caller, database: Database): Promise<void> {
  const { ask } = caller;
  const body = { ...given, headers: { 'X-Team': 'orders' } };
  const created = await askThrice(caller, { endpoint: 'POST /webhooks', body }, given);
  const ids = { id: created.body.data.id as string };
  await ask({ endpoint: 'POST /webhooks', what: 'with many things wrong', body: manyWrong });
  await ask({
    endpoint: 'POST /webhooks',
    what: 'to a private address',
    body: { ...given, url: 'https://127.0.0.1/' },
  });
  await ask({ endpoint: 'GET /webhooks' });
  await ask({ endpoint: 'GET /webhooks/{id}', ids });
  await ask({ endpoint: 'PATCH /webhooks/{id}', ids, body: { concurrency: 2, rateLimit: 60 } });
  await askThrice(caller, { endpoint: 'POST /webhooks/{id}/rotate-secret', ids, body: {} }, { other: 1 });
  await askThrice(caller, { endpoint: 'POST /webhooks/{id}/test', ids, body: {} }, { other: 1 });

  const add = async (status: string) => ({ ...ids, deliveryId: await addDelivery(database, ids.id, { status }) });
  const [lost, retrying] = [await add('dead_lettered'), await add('retrying')];
  await ask({ endpoint: 'GET /webhooks/{id}/deliveries', ids });
  await ask({ endpoint: 'GET /webhooks/{id}/deliveries', ids, query: '?status=retrying&limit=1' });
  await ask({ endpoint: 'GET /webhooks/{id}/deliveries', ids, query: '?status=lost&eventType=none' });
  const delivery = 'GET /webhooks/{id}/deliveries/{deliveryId}';
  await ask({ endpoint: delivery, ids: lost });
  await ask({ endpoint: delivery, what: 'that is retried', ids: retrying });
  const replay = 'POST /webhooks/{id}/deliveries/{deliveryId}/replay';
  await ask({ endpoint: replay, what: 'of one that is retried', ids: retrying, body: {} });
  await askThrice(caller, { endpoint: replay, ids: lost, body: {} }, { other: 1 });
  await askThrice(
    caller,
    { endpoint: 'POST /webhooks/{id}/deliveries/{deliveryId}/resend', ids: lost, body: {} },
    { other: 1 },
  );
  await add('dead_lettered');
  const since = new Date(Date.now() - 60_000).toISOString();
  const recover = 'POST /webhooks/{id}/recover';
  await askThrice(caller, { endpoint: recover, ids, body: { since } }, { since: new Date().toISOString() });
  await ask({ endpoint: recover, what: 'from a time to come', ids, body: { since: '2999-01-01T00:00:00Z' } });

  await ask({ endpoint: 'PATCH /webhooks/{id}', what: 'off', ids, body: { isActive: false } });
  await ask({ endpoint: 'POST /webhooks/{id}/test', what: 'while it is off', ids, body: {} });
  await ask({ endpoint: 'DELETE /webhooks/{id}', ids });
  await ask({ endpoint: 'DELETE /webhooks/{id}', what: 'again', ids });
}
