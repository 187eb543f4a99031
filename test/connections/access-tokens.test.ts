import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { AccessTokenRefused, AuthExpired, ConnectionMissing } from '../../src/connections/failures.ts';
import { connections } from '../../src/connections/part.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { reseal } from '../../src/platform/security/reseal.ts';
import { secrets } from '../operator.ts';
import { openConnections, providerOf } from './open-connections.ts';
import { newTenant, sceneOfTests } from './scene.ts';

const scene = sceneOfTests();

describe('an access token', () => {
  test('is used as long as it is good, and is stored sealed for its row', async () => {
    const id = await scene.keep('strict');
    expect(await scene.use(id, scene.strict)).toBe('ada@example.com');
    expect(await scene.use(id, scene.strict, scene.other)).toBe('ada@example.com');
    expect(scene.refreshes(scene.strict)).toHaveLength(0);
    const row = await scene.rowOf(id);
    for (const column of ['sealed_access_token', 'sealed_refresh_token']) expect(row[column]).toMatch(/^v1:k1:/);
    await scene.database.pool.query(
      'update oauth_connection set sealed_access_token = sealed_refresh_token where id = $1',
      [id],
    );
    await expect(scene.use(id, scene.strict)).rejects.toMatchObject({ cause: { reason: 'tampered' } });
    await scene.one.connections.erase(scene.scope, id);
  });

  test('is refreshed five minutes before its end, and what is given anew is stored first', async () => {
    const id = await scene.keep('strict');
    await scene.endsIn(id, 250);
    for (let count = 0; count < 3; count++) await scene.use(id, scene.strict);
    expect(scene.refreshes(scene.strict)).toHaveLength(1);
    expect(await scene.rowOf(id)).toMatchObject({ version: 2, lease_until: null });
    await scene.endsIn(id, 100);
    await scene.use(id, scene.strict);
    expect(scene.refreshes(scene.strict)[1]!.form.refresh_token).not.toBe(
      scene.refreshes(scene.strict)[0]!.form.refresh_token,
    );
  });

  test('with a short life is not refreshed for every use', async () => {
    const id = await scene.keep('strict', { expiresAt: new Date(Date.now() + 60_000) });
    for (let count = 0; count < 3; count++) await scene.use(id, scene.strict);
    expect(scene.refreshes(scene.strict)).toHaveLength(0);
  });

  test('that the provider refuses is refreshed, and the call made again, once', async () => {
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    expect(scene.refreshes(scene.plain)).toHaveLength(1);
    let calls = 0;
    const refuse = async () => {
      calls++;
      throw new AccessTokenRefused();
    };
    await expect(scene.one.connections.withAccessToken(scene.scope, id, refuse)).rejects.toThrow(AuthExpired);
    expect([calls, scene.expired]).toEqual([2, [id]]);
  });

  test('that is refused while the account is connected again ends nothing', async () => {
    const id = await scene.keep('plain');
    let calls = 0;
    const refuse = async () => {
      if (++calls === 2) await scene.keep('plain');
      throw new AccessTokenRefused();
    };
    const refused = scene.one.connections.withAccessToken(scene.scope, id, refuse);
    await expect(refused).rejects.toMatchObject({ name: 'AuthorizationFailure', retryable: true });
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    expect(scene.expired).toEqual([]);
  });

  test('is not refreshed because a call failed otherwise', async () => {
    const id = await scene.keep('plain');
    const fail = () => Promise.reject(new Error('503'));
    await expect(scene.one.connections.withAccessToken(scene.scope, id, fail)).rejects.toThrow('503');
    expect(scene.refreshes(scene.plain)).toHaveLength(0);
  });

  test('of another tenant, and of the other environment, is not there', async () => {
    const id = await scene.keep('plain');
    const { organizationId } = scene.scope.tenant;
    const inTest = new Scope(scene.database, { organizationId, environment: 'test' }, 'test');
    for (const foreign of [await newTenant(scene.database), inTest]) {
      await expect(scene.use(id, scene.plain, scene.one, foreign)).rejects.toThrow(ConnectionMissing);
      await scene.one.connections.revoke(foreign, id);
    }
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
  });
});

describe('a connection', () => {
  test('is renewed when the same account is connected again, also by many at once', async () => {
    const id = await scene.keep('plain');
    scene.plain.grants.revokeAccount('ada@example.com');
    await expect(scene.use(id, scene.plain)).rejects.toThrow(AuthExpired);
    const ids = await Promise.all(Array.from({ length: 5 }, () => scene.keep('plain')));
    expect(new Set(ids)).toEqual(new Set([id]));
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
  });

  test('keeps its refresh token where the provider gives no new one', async () => {
    const id = await scene.keep('plain');
    await scene.keep('plain', { refreshToken: null });
    scene.plain.grants.endAccessTokens();
    scene.plain.journal.length = 0;
    await scene.use(id, scene.plain);
    expect(scene.refreshes(scene.plain)).toHaveLength(1);
  });

  test('is revoked at the provider and erased', async () => {
    const id = await scene.keep('plain');
    let token = '';
    await scene.one.connections.withAccessToken(scene.scope, id, async (accessToken) => {
      token = accessToken;
    });
    await scene.one.connections.revoke(scene.scope, id);
    expect(scene.plain.grants.accountOf(token)).toBeUndefined();
    await expect(scene.use(id, scene.plain)).rejects.toThrow(ConnectionMissing);
    await scene.one.connections.revoke(scene.scope, id);
  });

  test('is not revoked if that would end another connection of the same account', async () => {
    const mine = await scene.keep('plain');
    const [tenant, others] = [scene.scope, await scene.begin(true)];
    const id = await scene.keep('plain');
    expect(others.tenant.organizationId).not.toBe(tenant.tenant.organizationId);
    await scene.one.connections.revoke(tenant, mine);
    await expect(scene.use(mine, scene.plain, scene.one, tenant)).rejects.toThrow(ConnectionMissing);
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    await scene.one.connections.revoke(others, id);
    expect(scene.plain.journal.filter(({ endpoint }) => endpoint === 'revoke')).toHaveLength(1);
  });

  test.each(['silence', 'hang up', 'flood', { fail: { status: 500 } }] as const)(
    'is erased although the provider answers with %j',
    async (behaviour) => {
      const id = await scene.keep('plain');
      scene.plain.next(behaviour);
      const { connections: by } = behaviour === 'silence' ? scene.hasty : scene.one;
      await by.revoke(scene.scope, id);
      expect(await scene.rowOf(id)).toBeUndefined();
    },
  );

  test('is sealed anew with the first key, while it is used', async () => {
    const id = await scene.keep('plain');
    const newKey = `k2:${randomBytes(32).toString('base64')}`;
    const both = new Sealer(`${newKey},${secrets.SEALING_KEYS}`);
    const resealAll = () => reseal(scene.database, both, connections.sealed!);
    expect((await resealAll()).resealed).toBeGreaterThanOrEqual(2);
    expect(await resealAll()).toEqual({ resealed: 0, unreadable: [] });
    await expect(scene.use(id, scene.plain)).rejects.toMatchObject({ code: 'secrets_unreadable' });
    const renewed = openConnections(scene.database, {
      providers: { plain: providerOf('plain', scene.plain) },
      sealingKeys: newKey,
    });
    expect(await scene.use(id, scene.plain, renewed)).toBe('ada@example.com');
    scene.plain.grants.endAccessTokens();
    expect(await scene.use(id, scene.plain, renewed)).toBe('ada@example.com');
    await renewed.close();
  });
});
