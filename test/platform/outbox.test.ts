import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { drainRepeatedly } from '../../src/operations/drain-repeatedly.ts';
import { Background } from '../../src/platform/concurrency/background.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Notifications } from '../../src/platform/database/notifications.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import { enqueueSql, kindsInStatements } from '../../src/platform/outbox/enqueue.ts';
import { holdEntry } from '../../src/platform/outbox/hold-entry.ts';
import { backoffMs, defaultOutboxPolicy, Outbox, type OutboxHandlers } from '../../src/platform/outbox/outbox.ts';
import { listOutbox } from '../../src/platform/outbox/outbox-entries.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';

let files: TestDatabase;
let database: Database;
let scope: Scope;
let background: Background;
const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const withoutNudge = { kinds: [], afterCommit: () => undefined, requireKind() {} };

beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
  scope = new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'test' }, 'correlation', 'me');
});
beforeEach(() => {
  background = new Background(log);
  lines.length = 0;
});
afterEach(async () => {
  await background.settled();
  await sqlOn(database.pool).rows(systemStatement({ name: 'test.empty_outbox', text: 'delete from outbox' }));
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

// Statements of the product are loaded here too, by this file and by others: parts of the product declare their kinds.
const idle = () => Object.fromEntries([...kindsInStatements()].map((kind) => [kind, async () => {}]));
const open = (handlers: OutboxHandlers, change: Partial<typeof defaultOutboxPolicy> = {}) => {
  const policy = { ...defaultOutboxPolicy, ...change };
  const promptKinds = Object.keys(handlers).filter((kind) => kind.startsWith('test.prompt'));
  return new Outbox({ database, background, log }, { ...idle(), ...handlers }, { policy, promptKinds });
};

const entries = () => listOutbox(database, { limit: 100 });
const makeDue = systemStatement({
  name: 'test.make_due',
  text: 'update outbox set available_at = clock_timestamp()',
});
const dueNow = () => sqlOn(database.pool).rows(makeDue);
/** Enqueues an entry that is not attempted after the commit, and makes it due. */
async function leave(kind: string, count = 1): Promise<string[]> {
  database.outbox = withoutNudge;
  const ids = Array.from({ length: count }, newId);
  await scope.transaction(async (tx) => {
    for (const id of ids) await tx.enqueue(kind, id);
  });
  await dueNow();
  return ids;
}

// Two subjects in one statement: the second, which has no hint, is none of the rows' own.
const enqueueBoth = statement({
  name: 'test.enqueue_both',
  parameters: { ids: 'uuid[]', correlationId: 'text' },
  row: { id: 'uuid' },
  text: `${enqueueSql('schedule.sync', { subject: 'id', correlation: ':correlationId', from: 'unnest(:ids) as id' })}
   returning subject_id as id`,
  enqueues: { 'schedule.sync': ({ id }) => ({ subjectId: id }) },
});

describe('after a commit', () => {
  test('what was enqueued is attempted with its hint, as the same actor, and deleted when it is done', async () => {
    const calls: unknown[] = [];
    database.outbox = open({
      'test.direct': async (on, subjectId, hint) => {
        const { tenant, correlationId, actor } = on;
        calls.push({ tenant, correlationId, actor, subjectId, hint });
      },
    });
    const id = newId();
    await scope.transaction((tx) => tx.enqueue('test.direct', id, { in: 'memory' }));
    // The caller that waits for the commit goes first.
    expect(calls).toEqual([]);
    await background.settled();
    const { tenant } = scope;
    expect(calls).toEqual([
      { tenant, correlationId: 'correlation', actor: 'me', subjectId: id, hint: { in: 'memory' } },
    ]);
    expect(await entries()).toEqual([]);
  });

  test('of a single statement too, and inside a transaction only after its commit', async () => {
    const calls: unknown[] = [];
    database.outbox = open({ 'schedule.sync': async (_, subjectId, hint) => void calls.push([subjectId, hint]) });
    const [first, second, third] = [newId(), newId(), newId()];
    scope.hint('schedule.sync', first, 'hinted');
    await scope.rows(enqueueBoth, { ids: [first, second], correlationId: 'correlation' });
    await background.settled();
    expect(calls).toEqual([
      [first, 'hinted'],
      [second, undefined],
    ]);
    await scope.transaction(async (tx) => {
      await tx.rows(enqueueBoth, { ids: [third], correlationId: 'correlation' });
      tx.hint('schedule.sync', third, 'late');
      await background.settled();
      expect(calls).toHaveLength(2);
    });
    await background.settled();
    expect(calls[2]).toEqual([third, 'late']);
  });

  test('of a transaction that is rolled back nothing is attempted', async () => {
    let calls = 0;
    database.outbox = open({ 'test.direct': async () => void calls++, 'schedule.sync': async () => void calls++ });
    const failing = scope.transaction(async (tx) => {
      await tx.enqueue('test.direct', newId());
      await tx.rows(enqueueBoth, { ids: [newId()], correlationId: 'correlation' });
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await background.settled();
    expect(calls).toBe(0);
  });

  test('what fails is left to the drain, which does it without the hint', async () => {
    const hints: unknown[] = [];
    database.outbox = open({
      'test.direct': async (_, __, hint) => {
        hints.push(hint);
        if (hint) throw new Error('not now');
      },
    });
    await scope.transaction((tx) => tx.enqueue('test.direct', newId(), 'in memory'));
    await background.settled();
    expect(await entries()).toMatchObject([{ kind: 'test.direct', attempts: 0 }]);
    await dueNow();
    expect(await (database.outbox as Outbox).drain()).toMatchObject({ drained: 1, failed: [] });
    expect(hints).toEqual(['in memory', undefined]);
    expect(await entries()).toEqual([]);
  });

  test('an entry that a later transaction replaced is not deleted by the earlier attempt', async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let calls = 0;
    database.outbox = open({
      'test.direct': async () => {
        if (++calls > 1) throw new Error('the second attempt fails');
        begun.resolve();
        await goOn.promise;
      },
    });
    const id = newId();
    await scope.transaction((tx) => tx.enqueue('test.direct', id));
    await begun.promise;
    await scope.transaction((tx) => tx.enqueue('test.direct', id));
    goOn.resolve();
    await background.settled();
    expect(await entries()).toMatchObject([{ subjectId: id }]);
  });

  test('a process without handlers makes it due at once', async () => {
    const apart = await openTestDatabase(files.url, 1);
    const elsewhere = new Scope(apart, scope.tenant, 'correlation');
    await elsewhere.rows(enqueueBoth, { ids: [newId()], correlationId: 'correlation' });
    await apart.close();
    const [entry] = await entries();
    expect(entry!.nextAttemptAt.getTime()).toBeLessThanOrEqual(Date.now() + 100);
  });
});

describe('the drain', () => {
  test('a kind that hangs and a kind that fails delay no other', async () => {
    const done: string[] = [];
    const hang = Promise.withResolvers<void>();
    const outbox = open({
      'test.hangs': () => hang.promise,
      'test.fails': async () => {
        throw Object.assign(new Error('Temporal does not answer.'), { code: 'E_BROKEN' });
      },
      'test.healthy': async (_, subjectId) => void done.push(subjectId),
    });
    await leave('test.hangs', 40);
    const failing = await leave('test.fails', 40);
    const healthy = await leave('test.healthy', 40);

    const first = outbox.drain();
    await until('the healthy kind is done', async () => done.length === 40);
    // The kind that hangs is still at it; another call serves the others meanwhile.
    const [later] = await leave('test.healthy');
    await until('a later entry is done', async () => {
      await outbox.drain();
      return done.length === 41;
    });
    expect(new Set(done)).toEqual(new Set([...healthy, later!]));
    const failed = await until('those that fail were attempted', async () => {
      const found = (await entries()).filter(({ kind, lastError }) => kind === 'test.fails' && lastError !== null);
      return found.length === failing.length && found;
    });
    for (const { lastError, attempts, lastAttemptAt } of failed) {
      expect({ lastError, attempts: attempts > 0 }).toEqual({
        lastError: 'Error E_BROKEN: Temporal does not answer.',
        attempts: true,
      });
      expect(lastAttemptAt).toBeInstanceOf(Date);
    }
    await until('it is logged', async () =>
      lines.some(({ kind, msg }) => kind === 'test.fails' && msg === 'an outbox entry failed and will be retried'),
    );
    hang.resolve();
    await first;
  });

  test('an attempt that hangs gives up its place at the deadline, and counts when it ends after all', async () => {
    const hang = Promise.withResolvers<void>();
    let begun = 0;
    const outbox = open(
      {
        'test.hangs': () => {
          begun++;
          return hang.promise;
        },
      },
      // None is due again before all have begun.
      { deadlineMs: 50, maxConcurrentOthers: 2, firstBackoffMs: 60_000 },
    );
    await leave('test.hangs', 6);
    const { drained, failed } = await outbox.drain();
    expect({ drained, failed: failed.length, begun }).toEqual({ drained: 0, failed: 6, begun: 6 });
    expect((await entries()).map(({ lastError }) => lastError)).toEqual(Array(6).fill('deadline exceeded'));
    hang.resolve();
    await until('their entries are deleted', async () => (await entries()).length === 0);
  });

  test('an attempt that took more time than its deadline keeps it: nothing is done a second time meanwhile', async () => {
    const hang = Promise.withResolvers<void>();
    const outbox = open(
      {
        'test.held': async (on, subjectId) => {
          await holdEntry(on, { kind: 'test.held', subjectId });
          await hang.promise;
        },
      },
      { deadlineMs: 500 },
    );
    await leave('test.held');
    await outbox.drain();
    await until('it is held', async () => {
      const [entry] = await entries();
      expect(entry!.lastError).toBe('deadline exceeded');
      return entry!.nextAttemptAt.getTime() - entry!.lastAttemptAt!.getTime() >= defaultOutboxPolicy.leaseMs;
    });
    hang.resolve();
    await until('its entry is deleted', async () => (await entries()).length === 0);
  });

  test('an entry that fails is tried again later and later, is never dropped, and is an error after many attempts', async () => {
    const outbox = open({
      'test.fails': async () => {
        throw new Error('always');
      },
    });
    const [id] = await leave('test.fails');
    for (let attempt = 1; attempt <= 8; attempt++) {
      await dueNow();
      await outbox.drain();
      const [entry] = await entries();
      expect(entry).toMatchObject({ subjectId: id, attempts: attempt });
      const waitMs = entry!.nextAttemptAt.getTime() - entry!.lastAttemptAt!.getTime();
      const full = Math.min(defaultOutboxPolicy.maxBackoffMs, 1_000 * 2 ** (attempt - 1));
      expect(waitMs).toBeGreaterThan(full * 0.5 - 50);
      expect(waitMs).toBeLessThan(full + 5_000);
    }
    expect(lines.filter(({ level }) => level === 50)).toMatchObject([
      { msg: 'an outbox entry keeps failing', kind: 'test.fails' },
    ]);
    expect(backoffMs(1_000, defaultOutboxPolicy, 1)).toBe(defaultOutboxPolicy.maxBackoffMs);
  });

  test('two drains at once do each entry once', async () => {
    const done: string[] = [];
    const handlers = { 'test.healthy': async (_: Scope, subjectId: string) => void done.push(subjectId) };
    const ids = await leave('test.healthy', 60);
    const reports = await Promise.all([open(handlers).drain(), open(handlers).drain()]);
    expect(reports.reduce((sum, { drained }) => sum + drained, 0)).toBe(60);
    expect(done.toSorted()).toEqual(ids.toSorted());
  });

  test.each([
    ['test.prompt_slow', { maxConcurrent: 4 }],
    ['test.slow', { maxConcurrentOthers: 4 }],
  ])('works on no more of a kind at once than it may: %s', async (kind, policy) => {
    let [underWay, max] = [0, 0];
    const four = Promise.withResolvers<void>();
    const slow = async () => {
      max = Math.max(max, ++underWay);
      if (underWay === 4) four.resolve();
      await four.promise;
      // A fifth would begin meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
    };
    const outbox = open({ [kind]: slow }, policy);
    await leave(kind, 30);
    expect((await outbox.drain()).drained).toBe(30);
    expect(max).toBe(4);
  });

  test('begins when an entry becomes due, and does not wait until it looks again', async () => {
    const done = Promise.withResolvers<string>();
    const outbox = open({ 'test.healthy': async (_: Scope, subjectId: string) => done.resolve(subjectId) });
    const notifications = new Notifications(files.url, log);
    await notifications.start();
    const [stopping, first] = [new AbortController(), Promise.withResolvers<unknown>()];
    const drain = async () => {
      const report = await outbox.drain();
      first.resolve(report);
      return report;
    };
    const hour = 3_600_000;
    const draining = drainRepeatedly({ background, log, notifications, drain }, stopping.signal, hour);
    try {
      await first.promise;
      const [id] = await leave('test.healthy');
      expect(await done.promise).toBe(id);
    } finally {
      stopping.abort();
      await draining;
      await background.settled();
      await notifications.stop();
    }
  });

  test('leaves entries of an unknown kind, and reports them', async () => {
    await leave('newer.kind', 3);
    await open({}).drain();
    expect(await entries()).toHaveLength(3);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, kind: 'newer.kind', count: 3 }));
  });
});

test('a process does not start when a statement enqueues a kind that no part declares', () => {
  const { 'schedule.sync': _, ...without } = idle();
  expect(() => new Outbox({ database, background, log }, without)).toThrow('schedule.sync');
  expect(() => open({}).requireKind('unheard.of')).toThrow('unheard.of');
});
