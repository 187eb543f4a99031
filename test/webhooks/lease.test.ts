import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Scope } from '../../src/platform/database/scope.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { egressRules } from '../../src/platform/egress/egress-destination.ts';
import type { TemporalClient } from '../../src/temporal/client.ts';
import { deliveryWorkflowId } from '../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { DeadLetterWorkflows } from '../../src/webhooks/dead-letters/dead-letter-workflows.ts';
import { findDeadLetterProgress } from '../../src/webhooks/deliveries/delivery-progress.ts';
import { defaultDeliveryPolicy } from '../../src/webhooks/dispatch/delivery-policy.ts';
import { leaseDue } from '../../src/webhooks/dispatch/lease.ts';
import { forgottenSweep, releaseNext } from '../../src/webhooks/dispatch/subject-order.ts';
import { beginRetries } from '../../src/webhooks/retries/retry-release.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';

let product: Product;
let api: string;
beforeAll(async () => {
  product = await openProduct({ env: { EGRESS_ALLOW_CIDRS: '10.0.0.0/8' } });
  // No process makes attempts here.
  ({ api } = await product.serve());
});
afterAll(() => product.close());

const services = (hostRate = 100_000) => ({
  database: product.database,
  egress: new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['10.0.0.0/8'] })),
  deliveryPolicy: { ...defaultDeliveryPolicy, hostRate },
});

interface Organization {
  id: string;
  client: ApiClient;
}

async function newOrganization(): Promise<Organization> {
  const { organizationId, testKey } = await product.createTenant({ plan: 'enterprise' });
  return { id: organizationIds.parse(organizationId)!, client: apiClient(api, testKey) };
}

/** A webhook with deliveries that wait for their first attempt. @returns its id, a uuid */
async function waiting({ client }: Organization, count: number, url: string): Promise<string> {
  const given = { name: 'Ours', url, events: ['*'], concurrency: 64 };
  const { id } = (await client.post('/v1/webhooks', given)).body.data;
  await product.database.pool.query(
    `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, next_attempt_at, response_body_truncated, created_at)
     select uuidv7(), organization_id, environment, id, uuidv7(), 'test.webhook', 'pending', 0, 0, now(), false, now()
       from webhook_subscription, generate_series(1, $2::int) where id = $1`,
    [webhookIds.parse(id), count],
  );
  return webhookIds.parse(id)!;
}

/** The attempts under way of a process with 256 places, all of which take long. */
class Places {
  readonly #held = new Map<string, number>();

  held = (id: string) => this.#held.get(id) ?? 0;

  get free(): number {
    return 256 - [...this.#held.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Leases until nothing is leased any more. */
  async fill(): Promise<void> {
    for (;;) {
      const room = { free: this.free, held: this.held };
      const { leased } = await leaseDue(services(), room);
      if (leased.length === 0) return;
      for (const { organizationId } of leased) this.#held.set(organizationId, this.held(organizationId) + 1);
    }
  }

  end(id: string, count: number): void {
    this.#held.set(id, this.held(id) - count);
  }
}

test('organizations whose receivers hang share the slots equally, and leave some for the next one', async () => {
  const [first, second, third] = [await newOrganization(), await newOrganization(), await newOrganization()];
  const places = new Places();
  for (const path of ['a', 'b', 'c', 'd']) await waiting(first, 100, `http://10.0.0.1/${path}`);
  await places.fill();
  expect(places.held(first.id)).toBe(128);

  for (const path of ['a', 'b', 'c', 'd']) await waiting(second, 100, `http://10.0.0.1/${path}`);
  await places.fill();
  expect([places.held(first.id), places.held(second.id)]).toEqual([128, 64]);
  // What the first one's attempts leave when they end goes to the second until both have as many.
  for (let ended = 0; ended < 50; ended++) {
    places.end(first.id, 1);
    await places.fill();
  }
  expect(Math.abs(places.held(first.id) - places.held(second.id))).toBeLessThanOrEqual(1);
  expect(places.free).toBeGreaterThanOrEqual(84);

  await waiting(third, 10, 'http://10.0.0.1/');
  await places.fill();
  expect(places.held(third.id)).toBe(10);
});

test('a host gets no more attempts than its rate, of all processes together, and organizations share them', async () => {
  const [many, one, elsewhere] = [await newOrganization(), await newOrganization(), await newOrganization()];
  const began = Date.now();
  // One a second, after the hundred of an idle host. Other spellings are the same host.
  const limited = services(1);
  const places = { free: 1_000, held: () => 0 };
  const urls = ['https://busy.example.com/a', 'https://BUSY.example.com:8443/b', 'http://busy.example.com./c'];
  for (const url of urls) await waiting(many, 64, url);
  await waiting(one, 64, 'https://busy.example.com/d');
  await waiting(elsewhere, 64, 'http://10.0.0.1/');
  await waiting(elsewhere, 64, 'https://idle.example.com/');

  const batches = await Promise.all([1, 2, 3].map(() => leaseDue(limited, places)));
  batches.push(await leaseDue(limited, places));
  const leased = batches.flatMap((batch) => batch.leased);
  const count = ({ id }: Organization) => leased.filter(({ organizationId }) => organizationId === id).length;
  expect(count(elsewhere)).toBe(128);
  const max = 100 + (Date.now() - began) / 1_000;
  expect(count(many) + count(one)).toBeGreaterThanOrEqual(100);
  expect(count(many) + count(one)).toBeLessThanOrEqual(max);
  expect(batches.at(-1)!.waitMs).toBeGreaterThan(0);

  // An organization with few is not behind one with many. A host that had nothing for a while starts anew.
  await product.database.pool.query('update delivery set leased_until = null where leased_until is not null');
  await product.database.pool.query('delete from webhook_host');
  const again = await leaseDue(limited, places);
  const shares = Map.groupBy(again.leased, ({ organizationId }) => organizationId);
  expect([many, one].map(({ id }) => shares.get(id)?.length)).toEqual([50, 50]);
});

test('retries are leased when they are due, their webhook has released them and is not paused', async () => {
  const organization = await newOrganization();
  const { pool } = product.database;
  const subscription = await waiting(organization, 1, 'http://10.0.0.1/retried');
  const soon = `update delivery set attempts = 1, status = 'retrying', next_attempt_at = clock_timestamp() + interval '900 ms'
      where subscription_id = $1`;
  const places = { free: 1_000, held: () => 0 };
  /** Until nothing more is leased: those of other organizations wait too. */
  const lease = async (before = 0): Promise<{ count: number; waitMs: number | undefined }> => {
    const { leased, waitMs } = await leaseDue(services(), places);
    const count = before + leased.filter(({ organizationId }) => organizationId === organization.id).length;
    return leased.length > 0 ? lease(count) : { count, waitMs };
  };
  // On a busy machine it is due before anybody asks.
  await until('it says when the retry is due', async () => {
    await pool.query(soon, [subscription]);
    const { count, waitMs } = await lease();
    expect(count).toBe(0);
    return waitMs !== undefined && waitMs <= 900;
  });
  await pool.query(
    'select pg_sleep(extract(epoch from next_attempt_at - clock_timestamp())) from delivery where subscription_id = $1',
    [subscription],
  );
  expect((await lease()).count).toBe(0);
  const scope = new Scope(product.database, { organizationId: organization.id, environment: 'test' }, 'retried');
  await scope.transaction((tx) => beginRetries(tx, [subscription]));
  const clock = (set: string) =>
    pool.query(`update retry_release set ${set} where subscription_id = $1`, [subscription]);
  await clock('paused_at = now()');
  expect((await lease()).count).toBe(0);
  await clock("paused_at = null, released_until = now() - interval '1 hour'");
  expect((await lease()).count).toBe(0);
  await clock("released_until = now() + interval '1 hour'");
  expect((await lease()).count).toBe(1);
  expect((await lease()).count).toBe(0);
});

test('deliveries about one subject are leased one after the other, and others meanwhile, however many wait', async () => {
  const organization = await newOrganization();
  const { pool } = product.database;
  const subscription = await waiting(organization, 2_010, 'http://10.0.0.1/ordered');
  await organization.client.patch(`/v1/webhooks/${webhookIds.format(subscription)}`, { ordering: 'subject' });
  // The last ten are about something else each.
  await pool.query(
    `update delivery d set subject = case when nth > 2000 then 'b' || nth else 'a' end
       from (select id, row_number() over (order by id) as nth from delivery where subscription_id = $1) numbered
      where d.id = numbered.id`,
    [subscription],
  );
  const ask = async (sql: string) => (await pool.query(sql, [subscription])).rows;
  const places = { free: 1_000, held: () => 0 };
  const leaseAll = async (): Promise<string[]> => {
    const ids: string[] = [];
    for (;;) {
      const { leased, waitMs } = await leaseDue(services(), places);
      ids.push(...leased.map(({ deliveryId }) => deliveryId));
      if (leased.length === 0 && (waitMs ?? 1_000) > 10) break;
    }
    const own = await ask('select id from delivery where subscription_id = $1');
    return ids.filter((id) => own.some((row) => row.id === id)).toSorted();
  };
  const ofA = (
    await ask(`select id from delivery where subscription_id = $1 and subject = 'a' order by id limit 3`)
  ).map(({ id }) => id);
  const ofOthers = (await ask(`select id from delivery where subscription_id = $1 and subject <> 'a' order by id`)).map(
    ({ id }) => id,
  );
  // Each look reads a bounded number of those that come after others.
  const first = await leaseDue(services(), places);
  const held = async () =>
    (await ask('select count(*)::int as n from delivery where subscription_id = $1 and is_held'))[0].n;
  expect(await held()).toBeLessThanOrEqual(128);
  const leased = [...first.leased.map(({ deliveryId }) => deliveryId), ...(await leaseAll())];
  expect(leased.filter((id) => ofA.includes(id))).toEqual([ofA[0]]);
  expect(leased.filter((id) => ofOthers.includes(id)).toSorted()).toEqual(ofOthers);
  expect(await held()).toBe(1_999);

  const scope = new Scope(product.database, { organizationId: organization.id, environment: 'test' }, 'ordered');
  const end = async (id: string, status: string) => {
    await pool.query('update delivery set status = $2, leased_until = null, attempts = 1 where id = $1', [id, status]);
    await releaseNext(scope, [{ subscriptionId: subscription, subject: 'a' }]);
  };
  await end(ofA[0], 'dead_lettered');
  expect(await leaseAll()).toEqual([ofA[1]]);
  // Replayed while the next one is under way, it comes before those after it.
  await pool.query(`update delivery set status = 'pending', attempts = 0 where id = $1`, [ofA[0]]);
  expect(await leaseAll()).toEqual([]);
  await end(ofA[1], 'delivered');
  expect(await leaseAll()).toEqual([ofA[0]]);
  await end(ofA[0], 'delivered');
  expect(await leaseAll()).toEqual([ofA[2]]);
});

test('a retry that was forgotten behind another one is due, although the workflow of its webhook sleeps', async () => {
  const { database } = product;
  const { pool } = database;
  const subscription = await waiting(await newOrganization(), 1, 'http://10.0.0.1/forgotten');
  await pool.query(
    `update delivery set subject = 'a', status = 'retrying', attempts = 1, is_held = true where subscription_id = $1`,
    [subscription],
  );
  await pool.query(
    `insert into retry_release (subscription_id, organization_id, environment, released_until, looks_at, created_at)
     select id, organization_id, environment, now() - interval '1 hour', now() + interval '1 hour', now()
       from webhook_subscription where id = $1`,
    [subscription],
  );
  expect(await forgottenSweep(database)()).toBe(1);
  const { rows } = await pool.query(
    `select released_until > now() as "isReleased", looks_at < now() as "isToLook" from retry_release
      where subscription_id = $1`,
    [subscription],
  );
  expect(rows).toEqual([{ isReleased: true, isToLook: true }]);
});

test('while Temporal is notified of dead letters no request waits for their rows, and a pass that fails is repeated', async () => {
  const { database } = product;
  const { pool } = database;
  const organization = await newOrganization();
  const subscription = await waiting(organization, 1_001, 'http://10.0.0.1/parked');
  // The oldest has a workflow, and those after it leave it no slot. The newest starts a pass.
  const { rows } = await pool.query<{ id: string }>(
    `update delivery d set status = 'dead_lettered', attempts = 1, next_attempt_at = null, finished_at = now(),
            created_at = now() + nth * interval '1 second', parked_at = case when nth < 1001 then now() end
       from (select id, row_number() over (order by id) as nth from delivery where subscription_id = $1) numbered
      where d.id = numbered.id and d.subscription_id = $1 returning case when nth = 1 then d.id end as id`,
    [subscription],
  );
  const letter = rows.find(({ id }) => id !== null)!.id;
  const signalled: string[] = [];
  let answer = Promise.withResolvers<void>();
  const temporal = {
    signalIfOpen(workflowId: string) {
      signalled.push(workflowId);
      return answer.promise;
    },
  } as unknown as TemporalClient;
  const deadLetterWorkflows = new DeadLetterWorkflows({
    database,
    temporal,
    deliveryPolicy: defaultDeliveryPolicy,
    log: pino({ level: 'silent' }),
    isRunAwaited: () => false,
  });
  const scope = new Scope(database, { organizationId: organization.id, environment: 'test' }, 'parked');
  deadLetterWorkflows.start();
  try {
    for (const round of [1, 2]) {
      await until('its workflow is signalled', async () => signalled.length === round);
      // It reads at once, and another process changes the row.
      expect(await findDeadLetterProgress(scope, letter)).toEqual({ kind: 'left' });
      await pool.query('update delivery set duration_ms = 1 where id = $1', [letter]);
      const { reject, resolve } = answer;
      answer = Promise.withResolvers();
      if (round === 1) reject(new Error('Temporal is away.'));
      else resolve();
    }
    const isLeft = "select from delivery where id = $1 and parked_at = '-infinity'";
    await until('it has no workflow', async () => (await pool.query(isLeft, [letter])).rowCount === 1);
    expect(signalled).toEqual(Array(2).fill(deliveryWorkflowId(letter)));
  } finally {
    answer.resolve();
    await deadLetterWorkflows.stop();
  }
});

test('of many that wait for few places, each webhook has its share', async () => {
  // Nothing of other tests is due any more.
  const leaseAll = () => leaseDue(services(), { free: 1_000, held: () => 0 });
  while ((await leaseAll()).leased.length > 0);
  const organization = await newOrganization();
  const ids = [
    await waiting(organization, 40, 'http://10.0.0.1/a'),
    await waiting(organization, 40, 'http://10.0.0.1/b'),
  ];
  for (let n = 0; n < 40; n++) await leaseDue(services(), { free: 1, held: () => 0 });
  for (const id of ids) {
    const leased = 'select from delivery where subscription_id = $1 and leased_until is not null';
    expect((await product.database.pool.query(leased, [id])).rowCount).toBeGreaterThan(0);
  }
});
