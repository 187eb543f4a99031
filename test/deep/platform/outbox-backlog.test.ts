import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { Background } from '../../../src/platform/concurrency/background.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../../src/platform/database/sql.ts';
import { newId } from '../../../src/platform/ids.ts';
import { kindsInStatements } from '../../../src/platform/outbox/enqueue.ts';
import {
  defaultOutboxPolicy,
  GoesOn,
  Outbox,
  type OutboxHandlers,
  type OutboxPolicy,
} from '../../../src/platform/outbox/outbox.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../test-database.ts';
import { until } from '../../until.ts';

const lock = 4711;
const log = pino({ level: 'silent' });
const background = new Background(log);
let files: TestDatabase;
let database: Database;
let holder: pg.Client;
let scope: Scope;
let other: Scope;
beforeAll(async () => {
  files = await createTestDatabase();
  // Fewer connections than the backlog has entries.
  database = await openTestDatabase(files.url, 10);
  const scopeOf = async (name: string) => {
    const { id } = await createOrganization(database, { name, plan: 'free' });
    return new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'test' }, 'correlation');
  };
  [scope, other] = [await scopeOf('One'), await scopeOf('Other')];
  holder = new pg.Client({ connectionString: files.ownerUrl });
  await holder.connect();
  await holder.query('select pg_advisory_lock($1)', [lock]);
});
afterAll(async () => {
  await holder.end();
  await background.settled();
  await database.close();
  await files.drop();
});

// Handlers for the kinds in statements of the product, which this file and others load.
const idle = () => Object.fromEntries([...kindsInStatements()].map((kind) => [kind, async () => {}]));
const withoutNudge = { kinds: [], afterCommit: () => undefined, requireKind() {} };

const holdUp = statement({
  name: 'test.hold_up',
  text: `select pg_advisory_xact_lock_shared(${lock}), :organizationId, :environment`,
});
const looks = statement({ name: 'test.looks', text: 'select :organizationId, :environment' });
const makeDue = systemStatement({
  name: 'test.make_due',
  text: 'update outbox set available_at = clock_timestamp()',
});

test('a backlog whose work hangs in the database leaves connections to work with a waiting caller', async () => {
  let held = 0;
  const prompt = new Set<string>();
  const handlers = {
    ...idle(),
    'test.held_up': async (on: Scope) => {
      held++;
      await on.rows(holdUp).catch(() => {});
    },
    'test.prompt': async (on: Scope, subjectId: string) => {
      await on.rows(looks);
      prompt.add(subjectId);
    },
  };
  const outbox = new Outbox({ database, background, log }, handlers, { promptKinds: ['test.prompt'] });
  const enqueue = async (count: number) => {
    for (let n = 0; n < count; n++) {
      await scope.transaction(async (tx) => {
        for (const kind of Object.keys(handlers).slice(-2)) await tx.enqueue(kind, newId());
      });
    }
  };
  database.outbox = withoutNudge;
  await enqueue(40);
  await sqlOn(database.pool).rows(makeDue);
  const drained = [outbox.drain()];
  database.outbox = outbox;
  await enqueue(20);
  await until('the work with a waiting caller is done', async () => {
    // What a busy machine does not attempt in time after the commit is left to the next drain.
    drained.push(outbox.drain());
    return prompt.size === 60;
  });
  // Much of the backlog has not begun: what hangs gives up after some seconds, so that a slow machine begins more of it.
  expect(held).toBeLessThanOrEqual(45);
  await holder.query('select pg_advisory_unlock_all()');
  await Promise.all(drained);
});

describe('tenants', () => {
  const [mine, its] = ['mine', 'its'];
  const kind = 'test.of_tenants';
  const otherKind = 'test.of_tenants_too';
  const nameOf = ({ tenant }: Scope) => (tenant.organizationId === scope.tenant.organizationId ? mine : its);
  const openWith = (handler: OutboxHandlers[string], policy: Partial<OutboxPolicy> = {}) =>
    new Outbox(
      { database, background, log },
      { ...idle(), [kind]: handler, [otherKind]: handler },
      {
        promptKinds: [kind, otherKind],
        policy: { ...defaultOutboxPolicy, ...policy },
      },
    );
  let clock: { mockRestore(): void } | undefined;
  /** Attempts after commits that have waited for long are left to the drain: on a busy machine, that may be any of them. */
  function stopClock(): void {
    clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  }
  afterEach(() => clock?.mockRestore());

  /** Enqueues an entry that is not attempted after the commit, and makes it due. */
  async function leave(count: number, of: Scope) {
    database.outbox = withoutNudge;
    await of.transaction(async (tx) => {
      for (let n = 0; n < count; n++) await tx.enqueue(kind, newId());
    });
    await sqlOn(database.pool).rows(makeDue);
  }

  test('one’s backlog, whose work hangs, delays no entry of another', async () => {
    const hang = Promise.withResolvers<void>();
    let done = 0;
    const outbox = openWith(async (on) => {
      if (nameOf(on) === mine) await hang.promise;
      else done++;
    });
    await leave(100, scope);
    await leave(1, other);
    const drained = outbox.drain();
    await until('the other tenant’s is done', async () => done === 1);
    hang.resolve();
    expect((await drained).drained).toBe(101);
  });

  test('one has its places until what it began elsewhere is over, and fewer once another comes', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const outbox = openWith(
      async (on) => {
        begun.push(nameOf(on));
        return new GoesOn(new Promise<void>((resolve) => ends.push(resolve)));
      },
      { ofTenantAlone: 3, ofTenants: 2, rememberTenantMs: 60_000 },
    );
    stopClock();
    const enqueue = async (of: Scope, count: number) => {
      database.outbox = outbox;
      for (let n = 0; n < count; n++) await of.transaction((tx) => tx.enqueue(kind, newId()));
    };
    await enqueue(scope, 4);
    await enqueue(other, 2);
    await until('each has its places', async () => begun.length === 4);
    expect(begun).toEqual([mine, mine, mine, its]);
    // What is left to the drain waits for the same places.
    await leave(2, scope);
    expect(await outbox.drain()).toMatchObject({ drained: 0 });
    expect(begun).toHaveLength(4);
    for (let at = 0; at < 4; at++) ends[at]!();
    await until('one of each follows', async () => begun.length === 6);
    expect(begun.slice(4).toSorted()).toEqual([its, mine]);
    for (let at = 4; at < 6; at++) ends[at]!();
    await background.settled();
    const drained = outbox.drain();
    await until('the drain begins one', async () => begun.length === 7);
    ends[6]!();
    await until('and then the other', async () => begun.length === 8);
    ends[7]!();
    expect((await drained).drained).toBe(2);
  });

  test('one has its places of each kind, and fewer while another has work of any kind', async () => {
    const begun: string[] = [];
    const hang = Promise.withResolvers<void>();
    stopClock();
    database.outbox = openWith(
      async (on) => {
        begun.push(nameOf(on));
        return new GoesOn(hang.promise);
      },
      { ofTenantAlone: 3, ofTenants: 2, rememberTenantMs: 60_000 },
    );
    await other.transaction((tx) => tx.enqueue(otherKind, newId()));
    await until('the other tenant’s has begun', async () => begun.length === 1);
    for (let n = 0; n < 3; n++) await scope.transaction((tx) => tx.enqueue(kind, newId()));
    await scope.transaction((tx) => tx.enqueue(otherKind, newId()));
    await until('one of each kind has begun', async () => begun.length === 3);
    hang.resolve();
    await until('the others follow', async () => begun.length === 5);
    expect(begun).toEqual([its, mine, mine, mine, mine]);
    await background.settled();
  });
});
