import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { onceOutside } from '../../src/platform/database/claimed-work.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { fingerprintOf, type IdempotencyClaim } from '../../src/platform/database/idempotency.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { statement } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { cutWaiting } from '../cut-waiting.ts';
import { whileHeld } from '../hold-lock.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
let ada: Scope;

beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
  ada = new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'test' }, 'correlation');
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

const claimOf = (key: string, body: unknown = null): IdempotencyClaim => ({
  method: 'POST',
  path: '/test',
  key,
  fingerprint: fingerprintOf(body),
});
const stepsTaken = statement({
  name: 'test.steps_taken',
  row: { kind: 'text' },
  text: `select kind from outbox
    where organization_id = :organizationId and environment = :environment and kind = 'test.once'`,
});

describe('a claimed transaction', () => {
  const sealer = new Sealer(`k1:${Buffer.alloc(32, 7).toString('base64')}`);

  test('two at once with one key: the second waits for the first and gets its outcome', async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const claim = claimOf('two at once');
    const first = ada.transaction(
      async (tx) => {
        const id = newId();
        await tx.enqueue('test.once', id);
        begun.resolve();
        await goOn.promise;
        return { id };
      },
      { claim },
    );
    await begun.promise;
    const second = ada.transaction(
      async (tx) => {
        await tx.enqueue('test.once', newId());
        return { id: newId() };
      },
      { claim },
    );
    goOn.resolve();
    const [one, two] = await Promise.all([first, second]);
    expect(two).toEqual({ outcome: one.outcome, replayed: true });
    expect(await ada.rows(stepsTaken)).toEqual([{ kind: 'test.once' }]);
  });

  test('the second takes the key over when the first fails', async () => {
    const begun = Promise.withResolvers<void>();
    const claim = claimOf('taken over');
    const first = ada.transaction(
      async (tx): Promise<object> => {
        begun.resolve();
        await tx.rows(stepsTaken);
        throw new Error('first failed');
      },
      { claim },
    );
    await begun.promise;
    const id = newId();
    const second = ada.transaction(async () => ({ id }), { claim });
    await expect(first).rejects.toThrow('first failed');
    expect(await second).toEqual({ outcome: { id }, replayed: false });
  });

  test('the outcome of a repetition has its dates, wherever they were', async () => {
    const at = new Date('2027-01-31T12:00:00.123Z');
    const made = { id: newId(), createdAt: at, nested: [{ at, text: '2027-01-31T12:00:00.123Z' }], none: null };
    const claim = claimOf('dates');
    expect((await ada.transaction(async () => made, { claim })).outcome).toBe(made);
    expect(await ada.transaction(async () => made, { claim })).toEqual({ outcome: made, replayed: true });
  });

  test('an outcome of the version before has its dates too', async () => {
    const claim = claimOf('earlier');
    const made = { id: newId(), createdAt: new Date(), updatedAt: new Date() };
    await ada.transaction(async () => made, { claim });
    const forgetPlaces = statement({
      name: 'test.forget_places',
      parameters: { key: 'text' },
      text: `update idempotency set outcome = (outcome::jsonb - '$dates')::json
        where organization_id = :organizationId and environment = :environment and key = :key`,
    });
    await ada.rows(forgetPlaces, { key: 'earlier' });
    expect((await ada.transaction(async () => made, { claim })).outcome).toEqual(made);
  });

  test('an outcome with secrets is sealed, and open in a repetition', async () => {
    const made = { id: newId(), secret: 'whsec_very_secret', at: new Date() };
    const claim = claimOf('sealed');
    await ada.transaction(async () => made, { claim, sealer });
    const stored = statement({
      name: 'test.stored',
      parameters: { key: 'text' },
      row: { text: 'text' },
      text: `select outcome::text as text from idempotency
        where organization_id = :organizationId and environment = :environment and key = :key`,
    });
    expect((await ada.one(stored, { key: 'sealed' }))!.text).not.toContain('very_secret');
    expect(await ada.transaction(async () => made, { claim, sealer })).toEqual({ outcome: made, replayed: true });
  });

  test('an outcome that is known beforehand is stored with the claim', async () => {
    const outcome = { id: newId() };
    const claim = claimOf('known');
    expect(await ada.transaction(async () => outcome, { claim, outcome })).toEqual({ outcome, replayed: false });
    const other = { id: newId() };
    expect(await ada.transaction(async () => other, { claim, outcome: other })).toEqual({ outcome, replayed: true });
  });

  test('another body is refused', async () => {
    await ada.transaction(async () => ({ id: newId() }), { claim: claimOf('bodies', { a: 1 }) });
    const other = ada.transaction(async () => ({ id: newId() }), { claim: claimOf('bodies', { a: 2 }) });
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });
});

describe('claimed work outside of a transaction', () => {
  let calls = 0;
  const work = async () => ({ call: ++calls });
  const inProgress = { code: 'idempotency_in_progress' };

  test('is not done again where the record of its outcome was interrupted', async () => {
    const claim = claimOf('interrupted');
    const once = { claim, limitMs: 60_000 };
    let done = 0;
    const first = Promise.withResolvers<Promise<unknown>>();
    await whileHeld(files, 'select', async (holder) => {
      const count = async () => {
        done++;
        await holder.query(`select from idempotency where key = 'interrupted' for update`);
        return { done };
      };
      first.resolve(onceOutside(ada, once, count));
      await cutWaiting(holder);
    });
    expect(await await first.promise).toEqual({ outcome: { done: 1 }, replayed: false });
    expect(await onceOutside(ada, once, async () => ({ done: ++done }))).toEqual({
      outcome: { done: 1 },
      replayed: true,
    });
  });

  test('is done once for one key, and each time without a key', async () => {
    const once = { claim: claimOf('outside'), limitMs: 60_000 };
    expect(await onceOutside(ada, once, work)).toEqual({ outcome: { call: 1 }, replayed: false });
    expect(await onceOutside(ada, once, work)).toEqual({ outcome: { call: 1 }, replayed: true });
    const other = { claim: claimOf('outside', 'another body'), limitMs: 60_000 };
    await expect(onceOutside(ada, other, work)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(await onceOutside(ada, { claim: undefined, limitMs: 60_000 }, work)).toMatchObject({ outcome: { call: 2 } });
  });

  test('is in progress also for a process whose clock is fast', async () => {
    const once = { claim: claimOf('outside, fast clock'), limitMs: 60_000 };
    const result = Promise.withResolvers<{ call: number }>();
    const begun = Promise.withResolvers<void>();
    const first = onceOutside(ada, once, () => {
      begun.resolve();
      return result.promise;
    });
    await begun.promise;
    const { now } = Date;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    try {
      await expect(onceOutside(ada, once, work)).rejects.toMatchObject(inProgress);
    } finally {
      clock.mockRestore();
    }
    result.resolve({ call: 0 });
    expect(await first).toEqual({ outcome: { call: 0 }, replayed: false });
  });

  test('that fails is not kept', async () => {
    const once = { claim: claimOf('outside, failing'), limitMs: 60_000 };
    const failing = onceOutside(ada, once, async () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    expect(await onceOutside(ada, once, async () => ({ done: true }))).toMatchObject({ replayed: false });
  });

  test('is in progress until its process must have died, and then one request takes it over', async () => {
    const claim = claimOf('outside, died');
    const hangs = Promise.withResolvers<{ late: boolean }>();
    const begun = Promise.withResolvers<void>();
    const died = onceOutside(ada, { claim, limitMs: -1 }, () => {
      begun.resolve();
      return hangs.promise;
    });
    await begun.promise;
    const again = Promise.withResolvers<{ of: string }>();
    const two = [1, 2].map(() => onceOutside(ada, { claim, limitMs: 60_000 }, () => again.promise));
    const refused = await Promise.race(
      two.map((one) =>
        one.then(
          () => undefined,
          (error) => error,
        ),
      ),
    );
    expect(refused).toMatchObject(inProgress);
    again.resolve({ of: 'the second' });
    const [done] = (await Promise.allSettled(two)).filter(({ status }) => status === 'fulfilled');
    expect(done).toMatchObject({ value: { outcome: { of: 'the second' }, replayed: false } });
    // The first one was only slow: it changes nothing any more.
    hangs.resolve({ late: true });
    await died;
    const kept = await onceOutside(ada, { claim, limitMs: 60_000 }, work);
    expect(kept).toEqual({ outcome: { of: 'the second' }, replayed: true });
  });
});
