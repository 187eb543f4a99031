import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { removeUnusedDefinitions } from '../../src/automation/definitions/unused-definitions.ts';
import { forgetOldNotices } from '../../src/operations/old-notices.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { bookingIds, eventTypeIds, hostIds } from '../../src/scheduling/core/ids.ts';
import { removeDeletedSettings, removeOldBookings } from '../../src/scheduling/retention.ts';
import { forgetEndedKeys, keptEndedKeys } from '../../src/tenancy/administration/ended-keys.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { tenancyLimits } from '../../src/tenancy/core/limits.ts';
import { countMail, forgetOldMails } from '../../src/tenancy/mails.ts';
import { forgetOldUsage } from '../../src/tenancy/usage/usage-months.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { runCli } from '../cli/run-cli.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { sceneOf } from '../scheduling/scene.ts';

// A product of its own: tests sweep whole tables, and no worker takes the work.
let product: Product;
let base: string;
beforeAll(async () => {
  product = await openProduct();
  base = (await product.serve(secrets)).api;
});
afterAll(() => product.close());

const query = (sql: string, ...values: unknown[]) => product.database.pool.query(sql, values);
const count = async (from: string, ...values: unknown[]) =>
  (await query(`select count(*)::int as count from ${from}`, ...values)).rows[0].count as number;

interface Owner {
  api: ApiClient;
  organizationId: string;
  scope: Scope;
}
async function owner(plan: string): Promise<Owner> {
  const tenant = await product.createTenant({ plan });
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, newId());
  return { api: apiClient(base, tenant.testKey), organizationId, scope };
}

test('of the keys that have ended an organization keeps the newest, so that it can always make others', async () => {
  const [full, other] = [await owner('free'), await owner('free')];
  const insert = (organizationId: string, keys: number, ended: string) =>
    query(
      `insert into api_key (id, organization_id, environment, name, hash, prefix, last_four, scopes, variant, created_at,
                            expires_at, revoked_at)
       select gen_random_uuid(), $1::uuid, 'test', 'n' || n, sha256(('${ended}' || $1::uuid || n)::bytea), 'sk_test_', 'abcd', '{keys}',
              'A', now(), ${ended === 'expired' ? `now() - make_interval(secs => n), null` : 'null, now()'}
         from generate_series(1, $2::int) n`,
      organizationId,
      keys,
    );
  await insert(full.organizationId, 10_000, 'expired');
  await insert(other.organizationId, 10, 'revoked');
  const make = () => full.api.post('/api/v1/keys', { name: 'Another', environment: 'test' });
  expect(await make()).toMatchObject({ status: 403, body: { error: { details: { limit: 10_000 } } } });

  const usable = await count('api_key where revoked_at is null and expires_at is null');
  expect(await forgetEndedKeys(product.database, 100)).toBe(100);
  while ((await forgetEndedKeys(product.database, 5_000)) > 0);
  expect(await count('api_key where revoked_at is null and expires_at is null')).toBe(usable);
  const { rows } = await query(
    `select count(*)::int as kept, max(substr(name, 2)::int) as oldest from api_key
      where organization_id = $1 and expires_at is not null`,
    full.organizationId,
  );
  expect(rows).toEqual([{ kept: keptEndedKeys, oldest: keptEndedKeys }]);
  expect(await count('api_key where organization_id = $1 and revoked_at is not null', other.organizationId)).toBe(10);
  expect((await make()).status).toBe(201);
});

describe('bookings', () => {
  const shift = (booking: string, days: number) =>
    query(
      `update booking set start_at = now() - make_interval(days => $2, hours => 1), end_at = now() - make_interval(days => $2),
              hold_start_at = now() - make_interval(days => $2, hours => 1), hold_end_at = now() - make_interval(days => $2)
        where id = $1`,
      bookingIds.parse(booking),
      days,
    );
  const settle = (booking: string) =>
    query(`update booking_effect set status = 'skipped' where booking_id = $1`, bookingIds.parse(booking));

  test('are removed after the days of the plan from their end, with what followed from them', async () => {
    const [free, team] = [await owner('free'), await owner('team')];
    const made: Record<string, string> = {};
    for (const [name, { api, organizationId }] of Object.entries({ free, team })) {
      const scene = sceneOf(api);
      const { id, host } = await scene.offer();
      const book = async (start: string) => (await scene.book(id, start)).body.data.id as string;
      made[`${name} old`] = await book('2040-06-13T10:00:00Z');
      made[`${name} fresh`] = await book('2040-06-14T10:00:00Z');
      made[`${name} open`] = await book('2040-06-15T10:00:00Z');
      const calendar = await addCalendar(product.database, host);
      await query(
        `insert into calendar_entry (booking_id, organization_id, environment, calendar_id, event_id, version, starts_at,
                                     ends_at, is_removed, written_at)
         select $1, organization_id, environment, id, 'event', 0, now(), now(), false, now() from calendar where id = $2`,
        bookingIds.parse(made[`${name} old`]!),
        calendar.replace(/^cal_/, ''),
      );
      await query(
        `insert into sandbox_calendar_event (calendar_id, event_id, organization_id, environment, version, event, booking_id)
         select id, 'event', $2, environment, 1, null, $3 from calendar where id = $1`,
        calendar.replace(/^cal_/, ''),
        organizationId,
        bookingIds.parse(made[`${name} old`]!),
      );
      for (const which of ['old', 'fresh']) await settle(made[`${name} ${which}`]!);
      await shift(made[`${name} old`]!, 31);
      await shift(made[`${name} fresh`]!, 29);
      await shift(made[`${name} open`]!, 40);
    }
    expect(await removeOldBookings(product.database)).toBe(1);
    const left = (of: Owner) => count('booking where organization_id = $1', of.organizationId);
    expect([await left(free), await left(team)]).toEqual([2, 3]);
    const old = bookingIds.parse(made['free old']!);
    for (const table of ['booking_effect', 'calendar_entry', 'sandbox_calendar_event']) {
      expect({ table, rows: await count(`${table} where booking_id = $1`, old) }).toEqual({ table, rows: 0 });
    }
    expect(await count('sandbox_calendar_event where organization_id = $1', team.organizationId)).toBe(1);
    await settle(made['free open']!);
    expect(await removeOldBookings(product.database)).toBe(1);
  });

  test('a deleted event type and its deleted host go with the last of them', async () => {
    const { api } = await owner('free');
    const scene = sceneOf(api);
    const { id, host } = await scene.offer();
    const booking = (await scene.book(id, '2040-06-13T10:00:00Z')).body.data.id;
    const other = await scene.offer();
    await settle(booking);
    await shift(booking, 20);
    await scene.request('DELETE', `event-types/${id}`);
    expect((await scene.request('DELETE', `hosts/${host}`)).status).toBe(200);
    await query(
      `update scheduling_event_type set deleted_at = now() - interval '2 hours' where deleted_at is not null`,
    );
    await query(`update scheduling_host set deleted_at = now() - interval '2 hours' where deleted_at is not null`);
    expect(await removeDeletedSettings(product.database)).toBe(0);
    await shift(booking, 31);
    expect(await removeOldBookings(product.database)).toBe(1);
    expect(await removeDeletedSettings(product.database)).toBe(2);
    expect(await count('scheduling_event_type where id = $1', eventTypeIds.parse(id))).toBe(0);
    expect(await count('scheduling_host where id = $1', hostIds.parse(host))).toBe(0);
    expect(await count('scheduling_event_type where id = $1', eventTypeIds.parse(other.id))).toBe(1);
  });
});

test('versions of workflows that are no longer kept and no run names are removed, others stay', async () => {
  const { api, organizationId } = await owner('free');
  const { id } = await makeWorkflow(api);
  const change = (prompt: string) =>
    api.patch(`/v1/workflows/${id}`, { steps: [{ id: 'say', type: 'prompt', prompt }] });
  expect((await change('Second')).status).toBe(200);
  const run = (await api.post(`/v1/workflows/${id}/execute`, { input: 'x', async: true })).body.data;
  for (const prompt of ['Third', 'Fourth']) await change(prompt);
  const left = () => count('definition where organization_id = $1', organizationId);
  expect(await removeUnusedDefinitions(product.database)).toBe(0);
  expect(await left()).toBe(4);
  // Ids begin with their time. What names them moves with them.
  const { rows } = await query('select id from definition where organization_id = $1 order by id', organizationId);
  for (const [index, { id: definition }] of rows.entries()) {
    await query(
      `with aged as (
         insert into definition (id, organization_id, environment, automation_id, ai_provider, ai_model, steps, config, inputs,
                                 version, created_at)
         select uuidv7(make_interval(mins => $2::int - 120)), organization_id, environment, automation_id, ai_provider,
                ai_model, steps, config, inputs, version + 10, created_at
           from definition where id = $1 returning id),
       runs as (update run set definition_id = aged.id from aged where definition_id = $1),
       automations as (update automation set definition_id = aged.id from aged where definition_id = $1)
       select from aged`,
      definition,
      index,
    );
    await query('delete from definition where id = $1', definition);
  }
  expect(run.runId).toBeDefined();
  expect(await removeUnusedDefinitions(product.database)).toBe(0);
  // As though a thousand versions had been saved since the second.
  await query(
    'update definition set version = version + 1000 where organization_id = $1 and version > 12',
    organizationId,
  );
  expect(await removeUnusedDefinitions(product.database)).toBe(1);
  const kept = await query(
    'select version from definition where organization_id = $1 order by version',
    organizationId,
  );
  expect(kept.rows.map(({ version }) => version)).toEqual([12, 1013, 1014]);
  expect((await api.get(`/v1/workflows/${id}`)).body.data.steps[0].prompt).toBe('Fourth');
});

test('usage of months that are long over is removed', async () => {
  const { organizationId } = await owner('free');
  const add = (months: number) =>
    query(
      `insert into usage_month (organization_id, environment, month, requests)
       values ($1, 'test', date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2), 1)`,
      organizationId,
      months,
    );
  for (const months of [1, 36, 37]) await add(months);
  expect(await forgetOldUsage(product.database, 100)).toBe(1);
  expect(await count('usage_month where organization_id = $1', organizationId)).toBe(2);
});

describe('mails of a day', () => {
  test('are counted apart for each environment; those above the limit of the plan are refused where they may be', async () => {
    const { scope, organizationId } = await owner('free');
    await query(
      `insert into mail_day (organization_id, environment, day, mails)
       values ($1, 'test', (now() at time zone 'UTC')::date, $2), ($1, 'live', (now() at time zone 'UTC')::date, 7)`,
      organizationId,
      tenancyLimits.mailsPerDay.of('free') - 2,
    );
    const together = await Promise.all(Array.from({ length: 5 }, () => countMail(scope, { isRefusable: true })));
    expect(together.filter(Boolean)).toHaveLength(2);
    const mails = async () =>
      (await query('select mails from mail_day where organization_id = $1 order by environment', organizationId)).rows;
    expect(await mails()).toEqual([{ mails: 7 }, { mails: tenancyLimits.mailsPerDay.of('free') }]);
    expect(await countMail(scope, { isRefusable: false })).toBe(false);
    expect(await mails()).toEqual([{ mails: 7 }, { mails: tenancyLimits.mailsPerDay.of('free') + 1 }]);
  });

  test('are forgotten after a month', async () => {
    const { scope, organizationId } = await owner('free');
    expect(await countMail(scope, { isRefusable: true })).toBe(true);
    await query(`update mail_day set day = day - 32 where organization_id = $1`, organizationId);
    expect(await forgetOldMails(product.database, 100)).toBe(1);
  });
});

test('notices are removed after their reason; what was announced of an endpoint stays while it is used', async () => {
  const { organizationId } = await owner('free');
  const notice = (about: string, days: number) =>
    query(
      `insert into notice (organization_id, about, leased_until, sent_at)
       values ($1, $2, now() - make_interval(days => $3), now() - make_interval(days => $3))`,
      organizationId,
      about,
      days,
    );
  await notice('key-expiry old', 91);
  await notice('key-expiry fresh', 89);
  await notice('deprecation GET /v1/used 2027-01-01', 400);
  await notice('deprecation GET /v1/unused 2027-01-01', 400);
  const use = (route: string, days: number) =>
    query(
      `insert into deprecated_use (organization_id, route, sunset, last_used_at)
       values ($1, $2, '2027-01-01', now() - make_interval(days => $3))`,
      organizationId,
      route,
      days,
    );
  await use('GET /v1/used', 300);
  await use('GET /v1/unused', 366);
  await forgetOldNotices(product.database, 100);
  const left = (await query('select about from notice where organization_id = $1 order by about', organizationId)).rows;
  expect(left.map(({ about }) => about)).toEqual(['deprecation GET /v1/used 2027-01-01', 'key-expiry fresh']);
  expect(await count('deprecated_use where organization_id = $1', organizationId)).toBe(1);
});

test('outbox list shows the work that is not done yet, and filters it', async () => {
  const json = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runCli([...args, '--json'], { DATABASE_URL: product.databaseUrl });
    if (exitCode !== 0) throw new Error(JSON.parse(stderr).error.code);
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  };
  const { organizationId, testKey } = await product.createTenant();
  const client = apiClient(base, testKey);
  const { id: workflowId } = await makeWorkflow(client);
  // Without a worker the run does not end, and its entry stays.
  const { body } = await client.post(`/api/v1/webhooks/${workflowId}`, {});
  const ofRun = async (...filter: string[]) =>
    (await json('outbox', 'list', ...filter)).entries.filter(
      (entry: { organizationId: string }) => entry.organizationId === organizationId,
    );
  expect(await ofRun('--kind', 'run.start')).toEqual([
    {
      id: expect.any(String),
      kind: 'run.start',
      organizationId,
      environment: 'test',
      attempts: 0,
      subjectId: runIds.parse(body.data.runId),
      correlationId: expect.any(String),
      lastError: null,
      lastAttemptAt: null,
      createdAt: expect.any(String),
      nextAttemptAt: expect.any(String),
    },
  ]);
  expect(await json('run', 'show', body.data.runId)).toMatchObject({
    id: runIds.format(runIds.parse(body.data.runId)!),
    status: 'queued',
    error: null,
    organizationId,
    steps: [],
    environment: 'test',
    temporalWorkflowId: `run-${runIds.parse(body.data.runId)}`,
  });
  await expect(json('run', 'show', 'run_nothing')).rejects.toThrow(/^run_not_found$/);
  expect(await ofRun('--kind', 'run.cancel')).toEqual([]);
  expect(await ofRun('--failing')).toEqual([]);
  await expect(json('outbox', 'list', '--limit', 'all')).rejects.toThrow(/^validation_error$/);
});
