import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { newId } from '../../src/platform/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { tenancyLimits } from '../../src/tenancy/core/limits.ts';
import { formatCursor } from '../../src/webhooks/core/event-cursor.ts';
import { sweepRecordings } from '../../src/webhooks/events/recording.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { problemOfEvent } from './event-schemas.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says, and says so when it is wrong
type Body = any;

let product: StartedProduct;
let owner: pg.Client;
beforeAll(async () => {
  product = await sharedProduct();
  owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await product.close();
});

interface Reader {
  tenant: Tenant;
  api: ApiClient;
  /** Reads the pages from a cursor to the end. */
  read(after?: string, query?: string): Promise<{ events: Body[]; nextCursor: string }>;
  run(): Promise<string>;
}

async function openReader(): Promise<Reader> {
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(product.process.api, tenant.testKey);
  const { id } = await makeWorkflow(api, 'x');
  return {
    tenant,
    api,
    async read(after, query = '') {
      const events: Body[] = [];
      for (let cursor = after; ; ) {
        const { status, body } = await api.get(`/v1/events?limit=100${cursor ? `&after=${cursor}` : ''}${query}`);
        if (status !== 200) throw new Error(`Not read: ${JSON.stringify(body)}`);
        events.push(...body.data.events);
        cursor = body.data.nextCursor as string;
        if (body.data.events.length === 0) return { events, nextCursor: cursor };
      }
    },
    async run() {
      const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: '' });
      return body.data.runId;
    },
  };
}

/** Reads on until so many events have come. */
async function readUntil(reader: Reader, count: number, after: string | undefined, query = '') {
  const events: Body[] = [];
  let cursor = after;
  await until(`${count} events`, async () => {
    const page = await reader.read(cursor, query);
    events.push(...page.events);
    cursor = page.nextCursor;
    return events.length >= count;
  });
  return { events, nextCursor: cursor! };
}

const namesOf = (events: Body[]) => events.map(({ type, data }) => `${type} ${data.id}`);

describe('the list of events', () => {
  test('begins with the first call, and has each event once, in its order and as webhooks get it', async () => {
    const reader = await openReader();
    await reader.run();
    const { events, nextCursor } = await reader.read();
    expect(events).toEqual([]);
    const runs = [await reader.run(), await reader.run()];
    const { events: found, nextCursor: after } = await readUntil(reader, 4, nextCursor);
    expect(namesOf(found)).toEqual(
      runs.flatMap((id) => [`workflow.run.started ${id}`, `workflow.run.completed ${id}`]),
    );
    expect(found.flatMap((event) => problemOfEvent(JSON.stringify(event)) ?? [])).toEqual([]);
    expect((await reader.read(after)).events).toEqual([]);
    // The same cursor has the same answer, and none begins with the oldest.
    expect((await reader.read(nextCursor)).events).toEqual(found);
    expect((await reader.read()).events).toEqual(found);
    const single = await reader.api.get(`/v1/events?limit=1&after=${nextCursor}`);
    expect(single.body.data.events).toEqual(found.slice(0, 1));
    expect((await reader.read(single.body.data.nextCursor)).events).toEqual(found.slice(1));
  });

  test('is filtered by types, with pages that together have each event once', async () => {
    const reader = await openReader();
    const { nextCursor } = await reader.read();
    const runs: string[] = [];
    for (let count = 0; count < 5; count++) runs.push(await reader.run());
    await readUntil(reader, 10, nextCursor);
    const types = '&types=workflow.run.completed,batch.completed,workflow.run.failed';
    const ended = (await reader.read(nextCursor, types)).events;
    expect(namesOf(ended)).toEqual(runs.map((id) => `workflow.run.completed ${id}`));
    expect((await reader.read(nextCursor, '&types=booking.created')).events).toEqual([]);
    const pages: Body[] = [];
    for (let cursor = nextCursor; ; ) {
      const { data } = (await reader.api.get(`/v1/events?limit=2${types}&after=${cursor}`)).body;
      if (data.events.length === 0) break;
      expect(data.events.length).toBeLessThanOrEqual(2);
      pages.push(...data.events);
      cursor = data.nextCursor;
    }
    expect(pages).toEqual(ended);
  });

  test('misses nothing and repeats nothing, whatever is written at the same time', async () => {
    const reader = await openReader();
    const { nextCursor } = await reader.read();
    const runs = Promise.all(Array.from({ length: 5 }, async () => [await reader.run(), await reader.run()]));
    const { events } = await readUntil(reader, 20, nextCursor);
    const expected = (await runs)
      .flat()
      .flatMap((id) => [`workflow.run.started ${id}`, `workflow.run.completed ${id}`]);
    expect(namesOf(events).toSorted()).toEqual(expected.toSorted());
    expect(new Set(events.map(({ id }) => id)).size).toBe(20);
  });

  test('does not pass an event whose transaction is still open', async () => {
    const reader = await openReader();
    const { nextCursor } = await reader.read();
    const organizationId = organizationIds.parse(reader.tenant.organizationId)!;
    const late = newId();
    await owner.query('begin');
    await owner.query(
      `insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at,
                          transaction_number)
       values ($1, $2, 'test', 'integration.auth_expired', null, '{"integration": "slack"}', 'test', now(),
               pg_current_xact_id()::text::bigint)`,
      [late, organizationId],
    );
    const run = await reader.run();
    await until('the run is over', async () => {
      const { rows } = await owner.query('select from event where organization_id = $1', [organizationId]);
      return rows.length === 3;
    });
    const before = await reader.read(nextCursor);
    expect(before.events).toEqual([]);
    await owner.query('commit');
    const { events } = await readUntil(reader, 3, before.nextCursor);
    expect(events.map(({ type }) => type)).toEqual([
      'integration.auth_expired',
      'workflow.run.started',
      'workflow.run.completed',
    ]);
    expect(events[2].data.id).toBe(run);
  });

  test('waits for an event', async () => {
    const reader = await openReader();
    const { nextCursor } = await reader.read();
    const path = `/v1/events?after=${nextCursor}&types=workflow.run.completed&waitSeconds=30`;
    // None is shown while a transaction of another test is open that may not know it, for however long that is.
    const waiting = until('it has come', async () => {
      const { body } = await reader.api.get(path);
      return body.data.events.length > 0 && body;
    });
    const run = await reader.run();
    const { data } = await waiting;
    expect(namesOf(data.events)).toEqual([`workflow.run.completed ${run}`]);
    const none = await reader.api.get(`/v1/events?after=${data.nextCursor}&waitSeconds=1`);
    expect(none.body.data.events).toEqual([]);
    expect((await reader.read(none.body.data.nextCursor)).events).toEqual([]);
  });

  test('holds up no other read while it waits', async () => {
    const [reader, other] = [await openReader(), await openReader()];
    const { nextCursor } = await reader.read();
    let ended = 0;
    const waiting = [1, 2, 3, 4, 5, 6, 7, 8].map(async () => {
      await reader.api.get(`/v1/events?after=${nextCursor}&waitSeconds=30`);
      ended++;
    });
    // Beside another organization one has few slots for reads.
    expect((await other.api.get('/v1/workflows')).status).toBe(200);
    expect((await reader.api.get('/v1/workflows')).status).toBe(200);
    expect(ended).toBe(0);
    await reader.run();
    await Promise.all(waiting);
  });

  test('no longer waits for an event when its client has gone', async () => {
    const { testKey } = await product.createTenant({ plan: 'free' });
    const api = apiClient(product.process.api, testKey);
    const { nextCursor } = (await api.get('/v1/events')).body.data;
    const path = `/v1/events?after=${nextCursor}&waitSeconds=`;
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${testKey}` };
    // One more than there are places: when it is refused, all the others wait.
    const waiting = Array.from({ length: tenancyLimits.waitingRequests.of('free') + 1 }, () =>
      fetch(`${product.process.api}${path}30`, { headers, signal: leaving.signal }),
    );
    expect((await Promise.race(waiting)).status).toBe(429);
    leaving.abort();
    await Promise.allSettled(waiting);
    // Sooner than they would have ended by themselves.
    await until('their places are free', async () => (await api.get(`${path}1`)).status === 200, 20_000);
  });

  test('has no tests, examples and events of callers', async () => {
    const reader = await openReader();
    const { nextCursor } = await reader.read();
    const webhook = { name: 'Mine', url: 'https://hooks.example.com', events: ['*'] };
    const { id } = (await reader.api.post('/v1/webhooks', webhook)).body.data;
    expect((await reader.api.post(`/v1/webhooks/${id}/test`)).status).toBe(202);
    const example = { type: 'workflow.run.completed' };
    expect((await reader.api.post(`/v1/webhooks/${id}/send-example`, example)).status).toBe(202);
    expect((await reader.api.post('/v1/events', { name: 'order.paid' })).status).toBe(202);
    const run = await reader.run();
    const { events } = await readUntil(reader, 2, nextCursor);
    expect(namesOf(events)).toEqual([`workflow.run.started ${run}`, `workflow.run.completed ${run}`]);
  });

  test('shows a tenant its own events, whosever cursor it sends', async () => {
    const [one, other] = [await openReader(), await openReader()];
    const { nextCursor } = await one.read();
    await other.read();
    const run = await one.run();
    await readUntil(one, 2, nextCursor);
    expect((await other.read(nextCursor)).events).toEqual([]);
    const live = apiClient(product.process.api, one.tenant.liveKey);
    expect((await live.get(`/v1/events?after=${nextCursor}`)).body.data.events).toEqual([]);
    expect(namesOf((await one.read(nextCursor)).events)).toContain(`workflow.run.completed ${run}`);
  });

  test.each([
    ['after=nonsense', 'after'],
    ['after=', 'after'],
    [`after=${formatCursor({ transaction: 2n ** 62n, eventId: newId() })}`, 'after'],
    ['types=workflow.run.completed,nothing', 'types.1'],
    ['types=', 'types.0'],
    ['waitSeconds=31', 'waitSeconds'],
    ['limit=101', 'limit'],
  ])('refuses %s', async (query, path) => {
    const { status, body } = await product.api.get(`/v1/events?${query}`);
    expect([status, body.error.details.errors[0].path]).toEqual([400, path]);
  });

  test('refuses a cursor that is older than a week', async () => {
    const reader = await openReader();
    const old = formatCursor({ transaction: 3n, eventId: newId() });
    expect((await reader.api.get(`/v1/events?after=${old}`)).status).toBe(200);
    await owner.query(`insert into transaction_clock (at, transaction_number) values (now() - interval '7 days', 4)`);
    const { status, body } = await reader.api.get(`/v1/events?after=${old}`);
    expect([status, body.error.details.errors[0]]).toEqual([
      400,
      { path: 'after', message: expect.stringContaining('older than 7 days') },
    ]);
  });
});

test('recording ends when nothing has used events for a week', async () => {
  const [unused, used] = [await openReader(), await openReader()];
  for (const one of [unused, used]) await one.read();
  const { id } = await makeWorkflow(used.api, 'x');
  const triggers = { triggers: [{ event: 'batch.completed' }] };
  expect((await used.api.request('PUT', `/v1/workflows/${id}/triggers`, triggers)).status).toBe(200);
  const ids = [unused, used].map(({ tenant }) => organizationIds.parse(tenant.organizationId)!);
  await owner.query(
    `update event_recording set recorded_until = now() - interval '1 minute' where organization_id = any($1)`,
    [ids],
  );
  // The product's own sweep may have them at this moment.
  const rows = await until('the expired ones are looked at', async () => {
    await sweepRecordings(product.database);
    const { rows: left } = await owner.query(
      `select organization_id as id, recorded_until > now() + interval '6 days' as "isRenewed" from event_recording
        where organization_id = any($1)`,
      [ids],
    );
    return left.length < ids.length && left;
  });
  expect(rows).toEqual([{ id: ids[1], isRenewed: true }]);
  await unused.run();
  // Reading begins anew.
  const { events, nextCursor } = await unused.read();
  expect(events).toEqual([]);
  await unused.run();
  await readUntil(unused, 2, nextCursor);
});
