import pg from 'pg';
// Declares the statements.
import '../../src/webhooks/events/event-list.ts';
import { settledTransaction } from '../../src/webhooks/events/transaction-clock.ts';
import { buffersOf } from '../buffers.ts';
import type { Finding, Item } from '../item.ts';
import type { Stand } from '../stand.ts';

const events = 1_000_000;
const limit = 100;
const maxBuffers = 200;

const common = 'workflow.run.completed';
const rare = 'workflow.run.failed';
const never = 'booking.cancelled';

const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Events of seven days, one for each transaction. @returns the number of the first transaction behind them */
async function insertEvents(client: pg.Client, { organizationId }: Stand): Promise<number> {
  const { rows } = await client.query(`select ${settledTransaction} as settled`);
  const settled = Number(rows[0].settled);
  await client.query(
    `insert into event (id, organization_id, environment, type, facts, correlation_id, created_at, transaction_number)
     select uuidv7(), $1, 'test', case when n % 1000 = 0 then '${rare}' else '${common}' end,
            json_build_object('workflowId', gen_random_uuid(), 'text', repeat('x', 300)), 'bench',
            now() - make_interval(secs => (${events} - n) * 0.6), $2::bigint - ${events} + n - 1
       from generate_series(1, ${events}) n`,
    [organizationId, settled],
  );
  await client.query('vacuum analyze event');
  return settled;
}

async function measure(stand: Stand, client: pg.Client): Promise<Finding> {
  const settled = await insertEvents(client, stand);
  const tenant = [stand.organizationId, 'test'] as const;
  const verdicts: Finding['verdicts'] = [];
  for (const [where, transaction] of [
    ['the oldest', settled - events - 1],
    ['the middle', settled - events / 2],
    ['the last hundred', settled - limit],
    ['the end', settled],
  ] as const) {
    for (const types of [undefined, [common], [rare], [never], [common, rare, never]]) {
      const place = [transaction, nilUuid, limit];
      const read = types
        ? { name: 'event.list_types', values: [...place, types] }
        : { name: 'event.list', values: place };
      verdicts.push({
        name: `${types?.join(', ') ?? 'all types'}, from ${where} on: buffers read`,
        values: [await buffersOf(client, tenant, [read])],
        aim: { atMost: maxBuffers },
      });
    }
  }
  return { rows: [], verdicts };
}

/** P39: the rows that a page of the feed of events reads, for any cursor. */
export const listEvents: Item = {
  name: 'P39',
  title: `GET /api/v1/events, ${limit} of ${events.toLocaleString('en-US')} events, buffers of 8 KiB`,
  needs: 'stand',
  async run(stand) {
    const client = new pg.Client({ connectionString: stand.databaseUrl });
    await client.connect();
    try {
      return [await measure(stand, client)];
    } finally {
      await client.end();
    }
  },
};
