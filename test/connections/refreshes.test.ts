import { describe, expect, test } from '@jest/globals';
import { AuthExpired } from '../../src/connections/failures.ts';
import { cutWaiting } from '../cut-waiting.ts';
import { whileHeld } from '../hold-lock.ts';
import { until } from '../until.ts';
import { openConnections, providerOf } from './open-connections.ts';
import { sceneOfTests } from './scene.ts';

const scene = sceneOfTests();

describe('a refresh', () => {
  test.each(['before the end', 'after a refusal'])(
    'is made once for 50 calls in each of two processes at the same time, %s',
    async (when) => {
      const id = await scene.keep('strict');
      if (when === 'before the end') await scene.endsIn(id, 1);
      else scene.strict.grants.endAccessTokens();
      scene.strict.next({ after: 150 });
      const calls = [scene.one, scene.other].flatMap((by) =>
        Array.from({ length: 50 }, () => scene.use(id, scene.strict, by)),
      );
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['ada@example.com']));
      expect(scene.refreshes(scene.strict)).toHaveLength(1);
    },
  );

  test('that the provider refuses ends access once, for everybody', async () => {
    const id = await scene.keep('strict');
    scene.strict.grants.revokeAccount('ada@example.com');
    const calls = [scene.one, scene.other].flatMap((by) =>
      Array.from({ length: 20 }, () => scene.use(id, scene.strict, by)),
    );
    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(AuthExpired) });
    }
    expect(scene.refreshes(scene.strict)).toHaveLength(1);
    expect(scene.expired).toEqual([id]);
    expect(await scene.rowOf(id)).toMatchObject({
      status: 'auth_expired',
      sealed_access_token: null,
      sealed_refresh_token: null,
      access_expires_at: null,
    });
    await expect(scene.use(id, scene.strict)).rejects.toThrow(AuthExpired);
    expect(scene.refreshes(scene.strict)).toHaveLength(1);
  });

  test('whose answer is lost is made again with the same token: a provider that keeps tokens goes on', async () => {
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    scene.plain.next('lose the answer');
    await expect(scene.use(id, scene.plain)).rejects.toMatchObject({ name: 'AuthorizationFailure', retryable: true });
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    const [first, second] = scene.refreshes(scene.plain);
    expect(second!.form.refresh_token).toBe(first!.form.refresh_token);
    expect(scene.expired).toEqual([]);
  });

  test('whose answer is lost, and whose token was replaced for good, ends access, and nothing else was possible', async () => {
    const id = await scene.keep('strict');
    scene.strict.grants.endAccessTokens();
    scene.strict.next('lose the answer');
    await expect(scene.use(id, scene.strict)).rejects.toMatchObject({ retryable: true });
    await expect(scene.use(id, scene.strict)).rejects.toThrow(AuthExpired);
    expect(scene.expired).toEqual([id]);
  });

  test('whose record was interrupted is recorded again: the provider has replaced the refresh token for good', async () => {
    const id = await scene.keep('strict');
    scene.strict.grants.endAccessTokens();
    const mayAnswer = Promise.withResolvers<void>();
    scene.strict.next({ after: mayAnswer.promise });
    const using = scene.use(id, scene.strict);
    await until('a refresh', async () => scene.refreshes(scene.strict).length > 0);
    await whileHeld(scene.files, `select from oauth_connection where id = '${id}' for update`, async (holder) => {
      mayAnswer.resolve();
      await cutWaiting(holder);
    });
    expect(await using).toBe('ada@example.com');
    expect(await scene.rowOf(id)).toMatchObject({ status: 'active', version: 2 });
    expect(scene.refreshes(scene.strict)).toHaveLength(1);
    expect(scene.expired).toEqual([]);
  });

  test.each([
    ['hangs up', 'hang up'],
    ['does not answer', 'silence'],
    ['answers garbage', 'garbage'],
    ['answers without an end', 'flood'],
    ['is down', { fail: { status: 503 } }],
    ['does not know us any more', { fail: { status: 401, body: { error: 'invalid_client' } } }],
  ] as const)(
    'of a provider that %s does not end access, and a token that is still good is used',
    async (_, behaviour) => {
      const id = await scene.keep('plain');
      await scene.endsIn(id, 200);
      scene.plain.next(behaviour);
      const by = behaviour === 'silence' ? scene.hasty : scene.one;
      expect(await scene.use(id, scene.plain, by)).toBe('ada@example.com');
      expect(await scene.rowOf(id)).toMatchObject({ status: 'active', version: 1 });
      await until('a refresh', async () => {
        await scene.use(id, scene.plain);
        return (await scene.rowOf(id)).version === 2;
      });
      expect(scene.expired).toEqual([]);
    },
  );

  test.each([
    ['members', Object.fromEntries(Array.from({ length: 600 }, (_, nth) => [`m${nth}`, 0]))],
    ['lists', { lists: JSON.parse(`[${'[],'.repeat(600)}[]]`) }],
    ['levels', { deep: JSON.parse('['.repeat(20) + ']'.repeat(20)) }],
  ])('that is answered with too many %s is not read, and tried again', async (_, many) => {
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    const body = Object.assign({ access_token: 'a-token', token_type: 'bearer', expires_in: 3_600 }, many);
    scene.plain.next({ fail: { status: 200, body } });
    await expect(scene.use(id, scene.plain)).rejects.toMatchObject({ code: 'invalid_answer', retryable: true });
  });

  test('that fails logs nothing of its tokens', async () => {
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    scene.plain.next({ fail: { status: 200, body: { access_token: 'a-token', error_description: 'some words' } } });
    await expect(scene.use(id, scene.plain)).rejects.toMatchObject({ code: 'invalid_answer', retryable: true });
    const text = scene.log.join('\n');
    expect(text).toMatch('could not be refreshed');
    const { refresh_token: sent, client_secret: secret } = scene.refreshes(scene.plain)[0]!.form;
    for (const hidden of [sent!, secret!, 'a-token', 'some words']) expect(text).not.toContain(hidden);
  });

  test('that gives a token which has ended at once is not repeated for ever', async () => {
    const id = await scene.keep('plain');
    await scene.endsIn(id, 0);
    scene.plain.grants.rules.lifeSeconds = 0;
    await expect(scene.use(id, scene.plain)).rejects.toThrow(AuthExpired);
    scene.plain.grants.rules.lifeSeconds = 3_600;
    // Before the call, and because the provider refused.
    expect(scene.refreshes(scene.plain)).toHaveLength(2);
  });

  test('proves who we are in the header where the provider wants that', async () => {
    const providers = { plain: providerOf('plain', scene.plain, { clientAuth: 'basic' }) };
    const { connections, close } = openConnections(scene.database, { providers });
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    const by = { connections };
    expect(await scene.use(id, scene.plain, by)).toBe('ada@example.com');
    expect(scene.refreshes(scene.plain)).toMatchObject([{ form: { shown: 'in the header' } }]);
    await close();
  });

  test('waits as long as the provider asks, in every process', async () => {
    const id = await scene.keep('plain');
    scene.plain.grants.endAccessTokens();
    scene.plain.next({ fail: { status: 429, headers: { 'retry-after': '1' } } });
    await expect(scene.use(id, scene.plain)).rejects.toMatchObject({ retryable: true, retryAfterMs: 1_000 });
    expect(await scene.use(id, scene.plain, scene.other)).toBe('ada@example.com');
    const [first, second, ...more] = scene.refreshes(scene.plain);
    // The time begins when the first one was answered, however late this test goes on.
    expect(second!.at - first!.at).toBeGreaterThan(950);
    expect(more).toEqual([]);
  });

  test('of a process that died is made by another one when its lease is over', async () => {
    const id = await scene.keep('plain');
    await scene.endsIn(id, 0);
    await scene.database.pool.query(
      `update oauth_connection set lease_until = clock_timestamp() + interval '1 s' where id = $1`,
      [id],
    );
    expect(await scene.use(id, scene.plain, scene.other)).toBe('ada@example.com');
    expect(scene.refreshes(scene.plain)).toHaveLength(1);
  });

  test('writes nothing over what a new consent gave meanwhile, refused or not', async () => {
    for (const refused of [false, true]) {
      const id = await scene.keep('plain');
      scene.plain.grants.endAccessTokens();
      const consented = Promise.withResolvers<void>();
      scene.plain.next({ after: consented.promise });
      const waiting = scene.use(id, scene.plain);
      await until('a refresh', async () => scene.refreshes(scene.plain).some(({ worked }) => !worked));
      if (refused) scene.plain.grants.revokeAccount('ada@example.com');
      expect(await scene.keep('plain')).toBe(id);
      consented.resolve();
      expect(await waiting).toBe('ada@example.com');
      expect(await scene.rowOf(id)).toMatchObject({ status: 'active' });
      scene.plain.journal.length = 0;
    }
    expect(scene.expired).toEqual([]);
  });

  test('that is refused while a consent is stored does not end what that consent gives', async () => {
    const id = await scene.keep('plain');
    const { purpose, provider, account_id: accountId, account_name: accountName } = await scene.rowOf(id);
    const tokens = { accessToken: 'new', refreshToken: 'new', expiresAt: null, answer: {} };
    await whileHeld(scene.files, 'select', async (owner) => {
      const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      let ending: Promise<unknown> | undefined;
      await scene.scope.transaction(async (tx) => {
        await scene.one.connections.keep(tx, { purpose, provider, accountId, accountName, tokens });
        let isOver = false;
        ending = scene.other.connections
          .expire(scene.scope, id, async () => true)
          .finally(() => {
            isOver = true;
          });
        await until('it waits, or does not', async () => isOver || (await owner.query(waiting)).rows.length > 0);
      });
      await ending;
    });
    expect(await scene.rowOf(id)).toMatchObject({ status: 'active', version: 2 });
    expect(scene.expired).toEqual([]);
  });

  test('without a refresh token is not possible: the token is used to its end, and then access has ended', async () => {
    const id = await scene.keep('plain', { refreshToken: null });
    await scene.endsIn(id, 100);
    expect(await scene.use(id, scene.plain)).toBe('ada@example.com');
    await scene.endsIn(id, -1);
    await expect(scene.use(id, scene.plain)).rejects.toThrow(AuthExpired);
    const again = await scene.keep('plain', { refreshToken: null });
    scene.plain.grants.endAccessTokens();
    await expect(scene.use(again, scene.plain)).rejects.toThrow(AuthExpired);
    expect(scene.expired).toEqual([id, id]);
  });
});
