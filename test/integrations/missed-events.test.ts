import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { microsoftTeams } from '../../src/integrations/catalog/microsoft-teams.ts';
import { connectionExpired } from '../../src/integrations/connections/expired-access.ts';
import { findConnectionById } from '../../src/integrations/connections/find-connection.ts';
import { takeLifecycle } from '../../src/integrations/following/follow-work.ts';
import type { FollowServices } from '../../src/integrations/following/followed.ts';
import { keepPushed } from '../../src/integrations/following/push-connection.ts';
import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { type ConnectedAccount, connectAccount } from '../fakes/connected-account.ts';
import { type FakeTeams, startFakeTeams, teamsError } from '../fakes/teams.ts';
import { secrets } from '../operator.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { addConnection } from './connection-rows.ts';

let product: StartedProduct;
let teams: FakeTeams;
let account: ConnectedAccount;

beforeAll(async () => {
  [product, teams] = await Promise.all([sharedProduct(), startFakeTeams()]);
  teams.validates = false;
  const settings = { TEAMS_LOGIN_BASE_URL: teams.origin, TEAMS_BASE_URL: teams.origin };
  account = await connectAccount(microsoftTeams, teams, settings, { prefix: 'TEAMS' });
});
beforeEach(() => {
  teams.reset();
  teams.messages.clear();
  teams.subscriptions.clear();
  teams.otherChannels = [];
  teams.unsubscribable.clear();
});
afterAll(async () => {
  await Promise.all([product.close(), account.close(), teams.close()]);
});

const hourMs = 3_600_000;

/** A connection that is followed: by the runs that the test makes, and at times that it shifts. */
async function followedTeams() {
  const { pool } = product.database;
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const listening = { event: 'message_received', url: 'https://hooks.example.com/x' };
  const hooks = '/api/v1/integrations/microsoft-teams/webhooks';
  expect((await apiClient(product.process.api, tenant.liveKey).post(hooks, listening)).status).toBe(201);
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'live' }, 'test');
  const id = await addConnection(product.database, {
    organizationId,
    environment: 'live',
    integration: microsoftTeams.id,
    accountId: teams.tenantId,
  });
  const connected = (await findConnectionById(scope, id))!;
  const run = (signingKey = secrets.URL_SIGNING_KEY) => {
    const services = { clientStates: new ClientStates(signingKey), publicUrl: 'https://atelier.example' };
    const use = <T>(work: (call: ConnectedAccount['call']) => Promise<T>) => work(account.call);
    const followed = { scope, integration: microsoftTeams, connected, isSubscribed: true, use };
    return keepPushed(services as FollowServices, followed, microsoftTeams.push!);
  };
  const row = async () => (await pool.query('select * from integration_push where connection_id = $1', [id])).rows[0];
  await run();
  expect(teams.subscriptions.size).toBe(1);
  return {
    id,
    scope,
    connected,
    run,
    row,
    /** A run that is interrupted at its second page. */
    async readOnePage() {
      teams.laterPages.push(teamsError(503, 'ServiceUnavailable'));
      await expect(run()).rejects.toMatchObject({ kind: 'lost' });
    },
    async notifyMissed() {
      await takeLifecycle(scope, id, [{ lifecycle: 'missed', subscriptionId: (await row()).subscription_id }]);
    },
    /** Everything that is recorded happened so many hours earlier. */
    async goBy(hours: number) {
      await pool.query(
        `update integration_push set listened_since = listened_since - $2::interval, ends_at = ends_at - $2::interval,
                missed_at = missed_at - $2::interval,
                catch_up = catch_up || jsonb_build_object(
                  'missedAt', ((catch_up->>'missedAt')::timestamptz - $2::interval)::text,
                  'readAt', (catch_up->>'readAt')::float8 - extract(epoch from $2::interval) * 1000)
          where connection_id = $1`,
        [id, `${hours} hours`],
      );
    },
    /** The messages that wait for their data. */
    async listed(): Promise<string[]> {
      const sql =
        "select reference->>'message' as id from integration_inbound_event where connection_id = $1 order by 1";
      return (await pool.query(sql, [id])).rows.map((one) => one.id);
    },
  };
}

const post = (count: number) =>
  Array.from({ length: count }, (_, at) => /(\d+)'\)$/.exec(teams.post({ text: `${at}` }))![1]!);
const lists = () => teams.journal.filter(({ path }) => path.endsWith('/messages/delta'));
const since = () => Date.parse(lists()[0]!.query.get('$filter')!.split(' ').at(-1)!);
const toEqualAbout = (at: number) => {
  expect(Math.abs(since() - at)).toBeLessThan(60_000);
};

test('events that are missed while a list is read are listed after it, however long it takes', async () => {
  const followed = await followedTeams();
  const first = post(5);
  await followed.notifyMissed();
  await followed.readOnePage();
  expect(await followed.listed()).toEqual(first.slice(0, 2));
  const later = post(3);
  await followed.notifyMissed();
  await followed.goBy(13);
  await followed.notifyMissed();
  await followed.run();
  expect(await followed.listed()).toEqual([...first, ...later]);
  // The first page, the failed one, the other two, and the two pages of the next list.
  expect(lists()).toHaveLength(6);
  expect(await followed.row()).toMatchObject({ missed_at: null, catch_up: null });
});

test('a list begins twelve hours before the first of several misses, and six days back at most', async () => {
  const followed = await followedTeams();
  await followed.goBy(1_000);
  // Another subscription was made since.
  await followed.run();
  teams.journal.length = 0;
  await followed.notifyMissed();
  await followed.goBy(20);
  await followed.notifyMissed();
  await followed.run();
  toEqualAbout(Date.now() - 32 * hourMs);

  teams.journal.length = 0;
  await followed.notifyMissed();
  await followed.goBy(40 * 24);
  await followed.run();
  toEqualAbout(Date.now() - 6 * 24 * hourMs);
  expect((await followed.row()).missed_at).toBeNull();
});

test('what was not pushed because a subscription had ended is listed from its end on', async () => {
  const followed = await followedTeams();
  await followed.goBy(48 + 30);
  teams.subscriptions.clear();
  const posted = post(3);
  await followed.run();
  toEqualAbout(Date.now() - (30 + 12) * hourMs);
  expect(await followed.listed()).toEqual(posted);
});

test('a place in a list outlives a change of the secret of the subscription', async () => {
  const followed = await followedTeams();
  const before = await followed.row();
  const posted = post(5);
  await followed.notifyMissed();
  await followed.readOnePage();
  await followed.run('another-key-of-32-characters-or-more');
  expect(await followed.listed()).toEqual(posted);
  // The list went on, and another one followed it: events between the two subscriptions were missed too.
  expect(lists().map(({ query }) => [...query.keys()].at(0))).toEqual([
    '$filter',
    '$skiptoken',
    '$skiptoken',
    '$skiptoken',
    '$deltatoken',
  ]);
  const after = await followed.row();
  expect(after.listened_since).toEqual(before.listened_since);
  expect([...teams.subscriptions.keys()]).toEqual([after.subscription_id]);
  expect(after.subscription_id).not.toBe(before.subscription_id);
});

test('what was pushed while there was no access is listed when the account is connected again', async () => {
  const followed = await followedTeams();
  const { id, scope, connected } = followed;
  await scope.transaction((tx) => connectionExpired(tx, id, connected.connectedAt));
  const posted = post(3);
  await product.database.pool.query("update integration_connection set status = 'connected' where id = $1", [id]);
  await followed.run();
  expect(await followed.listed()).toEqual(posted);
});

test('no list is read on while thousands of its events wait for their data', async () => {
  const followed = await followedTeams();
  const { pool } = product.database;
  await pool.query(
    `insert into integration_inbound_event (connection_id, digest, organization_id, environment, received_at, trigger, reference)
     select id, gen_random_uuid(), organization_id, environment, now(), 'message_received', '{"message": "0"}'
       from integration_connection, generate_series(1, 5000) where id = $1`,
    [followed.id],
  );
  const posted = post(1);
  await followed.notifyMissed();
  await followed.run();
  expect(lists()).toEqual([]);
  await pool.query('delete from integration_inbound_event where connection_id = $1', [followed.id]);
  await followed.run();
  expect(await followed.listed()).toEqual(posted);
});

test('more channels than are followed are an outcome of the run, which follows the others', async () => {
  const followed = await followedTeams();
  teams.otherChannels = Array.from({ length: 600 }, (_, at) => ({ id: `19:c${at}@thread.tacv2` }));
  teams.journal.length = 0;
  await expect(followed.run()).rejects.toMatchObject({ providerCode: 'too_many_channels' });
  const asked = teams.journal.filter(({ method, path }) => method === 'POST' && path === '/v1.0/subscriptions');
  expect(asked).toHaveLength(500);
});

test.each([
  ['is refused', 403],
  ['fails', 500],
  ['is not answered in time', 503],
])(
  'a channel whose subscription always %s holds up no other, and is requested again after a pause',
  async (_, status) => {
    const followed = await followedTeams();
    const { pool } = product.database;
    teams.otherChannels = [{ id: '19:always@thread.tacv2', displayName: 'Always', membershipType: 'standard' }];
    teams.unsubscribable.set('19:always@thread.tacv2', teamsError(status, 'Always'));
    teams.subscriptions.clear();
    await pool.query('delete from integration_push where connection_id = $1', [followed.id]);
    const requests = () =>
      teams.journal.filter(({ method, path }) => method === 'POST' && path === '/v1.0/subscriptions').length;
    const before = requests();
    const failure = { providerCode: 'Always' };
    await expect(followed.run()).rejects.toMatchObject(failure);
    expect(teams.subscriptions.size).toBe(1);
    expect(requests() - before).toBe(2);
    await expect(followed.run()).rejects.toMatchObject(failure);
    expect(requests() - before).toBe(2);

    // Each pause is twice as long as the one before, and at most six hours.
    const endPause = () =>
      pool.query(
        `update integration_connection set refused_resources = (
         select jsonb_object_agg(key, value || '{"until": 0}') from jsonb_each(refused_resources)) where id = $1`,
        [followed.id],
      );
    const minutes = [];
    for (let failed = 0; failed < 9; failed++) {
      await endPause();
      const began = Date.now();
      await expect(followed.run()).rejects.toMatchObject(failure);
      const sql = 'select value from integration_connection, jsonb_each(refused_resources) where id = $1';
      const [{ value }] = (await pool.query(sql, [followed.id])).rows;
      minutes.push(Math.floor((value.until - began) / 60_000));
    }
    expect(minutes).toEqual([10, 20, 40, 80, 160, 320, 360, 360, 360]);

    teams.unsubscribable.clear();
    teams.otherChannels = [];
    await followed.run();
    const { rows } = await pool.query('select refused_resources from integration_connection where id = $1', [
      followed.id,
    ]);
    expect(rows).toEqual([{ refused_resources: {} }]);
  },
);
