import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Connections } from '../../src/connections/connections.ts';
import { AccessTokenRefused } from '../../src/connections/failures.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type FakeOAuth, startFakeOAuth } from '../fakes/oauth/oauth-server.ts';
import { createTestDatabase, openTestDatabase } from '../test-database.ts';
import { openConnections, providerOf } from './open-connections.ts';

export const newTenant = async (database: Database, environment: 'live' | 'test' = 'live'): Promise<Scope> => {
  const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
  return new Scope(database, { organizationId: organizationIds.parse(id)!, environment }, 'test');
};

/** With the product's own limits: a busy machine may need a while for an answer that comes at once. */
const policy = { pauseMs: 40 };
/** For an answer that does not come at all. */
const hastyPolicy = { ...policy, tokenMs: 1_000, revokeMs: 1_000 };
/** The lease of a process that is killed is waited for. */
const ownProcessPolicy = { ...policy, leaseMs: 7_000, waitMs: 20_000 };

/** Two processes, as far as they know, that share a database, and two providers whose tokens they have. */
async function openScene() {
  const files = await createTestDatabase();
  const [database, otherDatabase] = await Promise.all([openTestDatabase(files.url), openTestDatabase(files.url)]);
  const fakes = {
    /** Gives a new refresh token each time, and ends the grant where an old one is used again. */
    strict: await startFakeOAuth({ like: 'google', rotates: true, detectsReuse: true }),
    /** Keeps refresh tokens. */
    plain: await startFakeOAuth({ like: 'google' }),
  };
  const providers = {
    strict: providerOf('strict', fakes.strict),
    plain: providerOf('plain', fakes.plain, { revokesAccount: true }),
  };
  const log: string[] = [];
  /** The connections whose end was reported. */
  const expired: string[] = [];
  const onExpired = async (_: unknown, id: string) => void expired.push(id);
  const options = { providers, policy, onExpired, log };
  const [one, other] = [openConnections(database, options), openConnections(otherDatabase, options)];
  const hasty = openConnections(database, { ...options, policy: hastyPolicy });
  let scope: Scope;
  let accounts = 0;

  async function tokensOf(provider: keyof typeof fakes) {
    const { authUrl } = await one.connections.begin(scope, { purpose: 'calendar', provider, subject: {} });
    const back = await fakes[provider].consent(authUrl, { account: 'ada@example.com' });
    const { result } = await one.connections.finish(back.searchParams, 'calendar');
    if ('error' in result) throw new Error(result.error);
    return result.tokens;
  }

  return {
    files,
    database,
    ...fakes,
    log,
    expired,
    one,
    other,
    /** Waits a second for a provider, and no longer. */
    hasty,
    /** For a process of its own, with the same providers. */
    forProcesses: { databaseUrl: files.url, providers, policy: ownProcessPolicy },
    /** A tenant of its own for each test. */
    get scope() {
      return scope;
    },
    /** @param withSameAccount as the tenant before, not one of its own */
    async begin(withSameAccount = false) {
      if (!withSameAccount) accounts++;
      scope = await newTenant(database);
      expired.length = 0;
      for (const fake of Object.values(fakes)) fake.journal.length = 0;
      return scope;
    },
    /** Connects Ada's account. @param change of the tokens. @returns the id of the connection */
    async keep(provider: keyof typeof fakes, change: object = {}): Promise<string> {
      const tokens = { ...(await tokensOf(provider)), ...change };
      const account = { purpose: 'calendar', provider, accountId: `ada ${accounts}`, accountName: 'ada@example.com' };
      return (await scope.transaction((tx) => one.connections.keep(tx, { ...account, tokens }))).id;
    },
    /** Does what an adapter of the provider does. @returns whose account it is */
    use: (id: string, fake: FakeOAuth, { connections }: { connections: Connections } = one, of = scope) =>
      connections.withAccessToken(of, id, async (accessToken) => {
        const account = fake.grants.accountOf(accessToken);
        if (account === undefined) throw new AccessTokenRefused();
        return account;
      }),
    refreshes: (fake: FakeOAuth) => fake.journal.filter(({ form }) => form.grant_type === 'refresh_token'),
    rowOf: async (id: string) =>
      (await database.pool.query('select * from oauth_connection where id = $1', [id])).rows[0],
    endsIn: (id: string, seconds: number) =>
      database.pool.query(
        `update oauth_connection set access_expires_at = clock_timestamp() + make_interval(secs => $2),
            refresh_at = clock_timestamp() + make_interval(secs => $2 - 300) where id = $1`,
        [id, seconds],
      ),
    async close() {
      await Promise.all([one.close(), other.close(), hasty.close(), fakes.strict.close(), fakes.plain.close()]);
      await Promise.all([database.close(), otherDatabase.close()]);
      await files.drop();
    },
  };
}

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** The scene of a file's tests: opened before them, begun anew for each, and closed after them. */
export function sceneOfTests(): Scene {
  const scene = {} as Scene;
  beforeAll(async () => {
    Object.defineProperties(scene, Object.getOwnPropertyDescriptors(await openScene()));
  });
  beforeEach(async () => {
    await scene.begin();
  });
  afterAll(() => scene.close());
  return scene;
}
