import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Automation, Definition } from '../../src/automation/entities.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { fingerprintOf, type IdempotencyClaim } from '../../src/platform/database/idempotency.ts';
import { Scope, type Transaction } from '../../src/platform/database/scope.ts';
import { sqlOn, statement } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Committed } from '../../src/platform/outbox/enqueue.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { testWebhook } from '../../src/webhooks/core/events.ts';
import { publishTestEvent } from '../../src/webhooks/deliveries/publish-event.ts';
import { WebhookSubscription } from '../../src/webhooks/entities.ts';
import { untried } from '../../src/webhooks/subscriptions/subscriptions.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
let ada: Scope;
let bob: Scope;
const committed: Committed[] = [];

beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  database.outbox = {
    kinds: [],
    afterCommit(entries) {
      committed.push(entries);
      return undefined;
    },
    requireKind(kind) {
      if (!kind.startsWith('test.')) throw new Error(`No part declares the outbox kind ${kind}.`);
    },
  };
  const scopeOf = async () => {
    const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
    return new Scope(
      database,
      { organizationId: organizationIds.parse(id)!, environment: 'test' },
      'correlation',
      'me',
    );
  };
  ada = await scopeOf();
  bob = await scopeOf();
});
beforeEach(() => {
  committed.length = 0;
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

const waitFor = statement({
  name: 'test.wait',
  parameters: { seconds: 'float8' },
  row: { ended: 'boolean' },
  text: `select pg_sleep(:seconds) is not null as ended
    where :organizationId is not null and :environment is not null`,
});

/** An automation with its definition, as entities. */
function persistAutomation({ em, tenant }: Transaction, name: string): Automation {
  const [id, definitionId, now] = [newId(), newId(), new Date()];
  const model = { aiProvider: 'ANTHROPIC', aiModel: 'm', steps: [], config: {}, inputs: [], version: 1 };
  em.persist(em.create(Definition, { id: definitionId, ...tenant, automationId: id, ...model, createdAt: now }));
  const automation = em.create(Automation, {
    id,
    ...tenant,
    name,
    description: null,
    state: 'active',
    definitionId,
    totalRuns: 0,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
    triggerSecretHash: null,
  });
  em.persist(automation);
  return automation;
}

const names = statement({
  name: 'test.names',
  row: { name: 'text' },
  text: 'select name from automation where organization_id = :organizationId and environment = :environment order by name',
});
const rename = statement({
  name: 'test.rename',
  parameters: { id: 'uuid', name: 'text' },
  text: `update automation set name = :name
    where organization_id = :organizationId and environment = :environment and id = :id`,
});
const claimOf = (key: string, body: unknown = null): IdempotencyClaim => ({
  method: 'POST',
  path: '/test',
  key,
  fingerprint: fingerprintOf(body),
});

/** How many rows of the tenant each table holds. */
async function counts({ tenant: { organizationId, environment } }: Scope): Promise<Record<string, number>> {
  const tables = ['automation', 'definition', 'audit_log', 'outbox', 'event', 'delivery', 'idempotency'];
  const entries = tables.map(async (table) => {
    const count = statement({
      name: `test.count_${table}`,
      row: { count: 'int' },
      text: `select count(*)::int as count from ${table}
        where organization_id = :organizationId and (environment = :environment or environment is null)`,
    });
    return [table, (await sqlOn(database.pool).one(count, { organizationId, environment }))!.count] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function subscriptionOf(scope: Scope): Promise<string> {
  return scope.transaction(async ({ em, tenant }) => {
    const [id, now] = [newId(), new Date()];
    em.persist(
      em.create(WebhookSubscription, {
        id,
        ...tenant,
        ...untried,
        name: 'Hook',
        url: 'https://example.com',
        events: ['*'],
        isActive: true,
        maxAttempts: 3,
        rateLimit: null,
        concurrency: 8,
        disabledReason: null,
        disabledAt: null,
        sealedHeaders: null,
        sealedSecret: 'sealed',
        sealedPreviousSecret: null,
        previousSecretExpiresAt: null,
        rateFreeAt: null,
        createdAt: now,
        updatedAt: now,
        deletedAt: null,
      }),
    );
    return id;
  });
}

describe('one transaction', () => {
  test('carries entities, statements, audit, outbox, events and the claim: all are there, or none is', async () => {
    const subscriptionId = await subscriptionOf(ada);
    const before = await counts(ada);
    const everything = (failing: boolean) => async (tx: Transaction) => {
      const { id } = persistAutomation(tx, failing ? 'failed' : 'made');
      await tx.rows(rename, { id, name: failing ? 'failed twice' : 'renamed' });
      await publishTestEvent(tx, subscriptionId, testWebhook, { webhookId: subscriptionId, message: 'Hello.' });
      await tx.enqueue('test.kind', id);
      await tx.audit({ action: 'workflow.create', subjectId: id });
      if (failing) throw new Error('refused');
      return { id };
    };
    await expect(ada.transaction(everything(true), { claim: claimOf('all') })).rejects.toThrow('refused');
    expect(await counts(ada)).toEqual(before);
    expect(committed).toEqual([]);

    const { outcome, replayed } = await ada.transaction(everything(false), { claim: claimOf('all') });
    expect(replayed).toBe(false);
    const after = await counts(ada);
    expect(Object.entries(after).map(([table, count]) => [table, count - before[table]!])).toEqual(
      ['automation', 'definition', 'audit_log', 'outbox', 'event', 'delivery', 'idempotency'].map((table) => [
        table,
        1,
      ]),
    );
    expect(committed).toMatchObject([
      { tenant: ada.tenant, correlationId: 'correlation', actor: 'me', entries: [{ subjectId: outcome.id }] },
    ]);
    expect(await ada.rows(names)).toEqual([{ name: 'renamed' }]);
  });

  test('a statement sees what entities were given before it, and entities see what it wrote', async () => {
    const seen = bob.transaction(async (tx) => {
      const automation = persistAutomation(tx, 'first');
      expect(await tx.rows(names)).toEqual([{ name: 'first' }]);
      automation.name = 'second';
      expect(await tx.rows(names)).toEqual([{ name: 'second' }]);
      await tx.rows(rename, { id: automation.id, name: 'third' });
      await tx.em.refresh(automation);
      expect(automation.name).toBe('third');
      throw new Error('seen enough');
    });
    await expect(seen).rejects.toThrow('seen enough');
    expect(await bob.rows(names)).toEqual([]);
  });

  test('whose statement failed is not committed, although the verb went on', async () => {
    const work = ada.transaction(async (tx) => {
      persistAutomation(tx, 'never there');
      await tx
        .rows(
          statement({
            name: 'test.fails',
            text: 'select 1 / 0 where :organizationId is not null and :environment is not null',
          }),
        )
        .catch(() => {});
    });
    await expect(work).rejects.toThrow();
    expect(await ada.rows(names)).not.toContainEqual({ name: 'never there' });
  });

  test('is over when its work is', async () => {
    let leaked: Transaction | undefined;
    await ada.transaction(async (tx) => {
      leaked = tx;
    });
    await expect(leaked!.rows(names)).rejects.toThrow('over');
    expect(() => leaked!.em).toThrow('over');
  });

  test('a kind that no part declares cannot be enqueued', async () => {
    await expect(ada.transaction((tx) => tx.enqueue('unheard.of', newId()))).rejects.toThrow('unheard.of');
  });

  test('a statement that enqueues must say so', () => {
    const text = 'insert into outbox (id) values (:organizationId) returning :environment';
    expect(() => statement({ name: 'test.silent', text })).toThrow('does not declare');
  });

  test('after a refusal and after an error of PostgreSQL the connection is used again', async () => {
    const narrow = await openTestDatabase(files.url, 1);
    const scope = new Scope(narrow, ada.tenant, 'test');
    const session = statement({
      name: 'test.pid',
      row: { pid: 'int' },
      text: 'select pg_backend_pid() as pid where :organizationId is not null and :environment is not null',
    });
    const { pid } = (await scope.one(session))!;
    const taken = claimOf('again');
    await scope.transaction(async () => ({ id: newId() }), { claim: taken });
    const reused = { ...taken, fingerprint: fingerprintOf('other') };
    await expect(scope.transaction(async () => ({}), { claim: reused })).rejects.toThrow('another body');
    await expect(
      scope.rows(
        statement({
          name: 'test.zero',
          text: 'select 1 / 0 where :organizationId is not null and :environment is not null',
        }),
      ),
    ).rejects.toThrow();
    expect((await scope.one(session))!.pid).toBe(pid);
    await narrow.close();
  });

  test('connections of transactions that wait for each other are used again', async () => {
    const narrow = await openTestDatabase(files.url, 10);
    const scope = new Scope(narrow, ada.tenant, 'test');
    let [begun, closed] = [0, 0];
    narrow.tenantPool.on('remove', () => closed++);
    const together = Array.from({ length: 4 }, (_, nth) =>
      scope.transaction(async (tx) => {
        begun++;
        tx.requireLocally(['test.turns']);
        await tx.rows(waitFor, { seconds: 0.25 });
        return nth;
      }),
    );
    expect(await Promise.all(together)).toEqual([0, 1, 2, 3]);
    // Some were rolled back and begun again.
    expect(begun).toBeGreaterThan(4);
    expect(closed).toBe(0);
    await narrow.close();
  });
});

describe('row-level security in a transaction', () => {
  const hers = () => ada.transaction(async (tx) => persistAutomation(tx, 'hers').id);

  test("another tenant's entity can neither be read nor changed", async () => {
    const id = await hers();
    await bob.transaction(async ({ em }) => {
      expect(await em.findOne(Automation, { id })).toBeNull();
      expect(await em.findOne(Automation, { id }, { filters: false })).toBeNull();
      expect(await em.nativeUpdate(Automation, { id }, { name: 'his' }, { filters: false })).toBe(0);
      expect(await em.nativeDelete(Automation, { id }, { filters: false })).toBe(0);
    });
    expect(await bob.read((em) => em.find(Automation, {}, { filters: false }))).toEqual([]);
    expect(await ada.read((em) => em.findOneOrFail(Automation, { id }))).toMatchObject({ name: 'hers' });
  });

  test("an entity cannot be written as another tenant's, nor handed over", async () => {
    const foreign = bob.transaction(async (tx) => {
      persistAutomation(tx, 'smuggled').organizationId = ada.tenant.organizationId;
    });
    await expect(foreign).rejects.toThrow('row-level security');
    const id = await hers();
    const handed = ada.transaction(async ({ em }) => {
      (await em.findOneOrFail(Automation, { id })).organizationId = bob.tenant.organizationId;
    });
    await expect(handed).rejects.toThrow('row-level security');
    expect(await bob.rows(names)).toEqual([]);
  });

  test('entities outside a transaction are only read', async () => {
    const id = await hers();
    const write = ada.read((em) => em.nativeUpdate(Automation, { id }, { name: 'changed' }));
    await expect(write).rejects.toThrow('read-only transaction');
    expect(await ada.read((em) => em.findOneOrFail(Automation, { id }))).toMatchObject({ name: 'hers' });
  });

  test('tenants that take turns on one connection never see each other', async () => {
    const narrow = await openTestDatabase(files.url, 1);
    const scopes = [ada, bob].map(({ tenant }) => new Scope(narrow, tenant, 'test'));
    const look = (scope: Scope) => scope.read((em) => em.count(Automation, {}, { filters: false }));
    const [adas] = [await look(scopes[0]!)];
    for (let round = 0; round < 10; round++) {
      expect(await Promise.all(scopes.map(look))).toEqual([adas, 0]);
    }
    await narrow.close();
  });
});

describe('a transaction within a transaction', () => {
  test('commits with the outer one, and what both enqueued is attempted once it has', async () => {
    const [outer, inner] = [newId(), newId()];
    await bob.transaction(async (tx) => {
      await tx.enqueue('test.outer', outer);
      await tx.transaction(async (nested) => {
        persistAutomation(nested, 'nested');
        await nested.enqueue('test.inner', inner);
      });
      expect(committed).toEqual([]);
      expect(await tx.rows(names)).toEqual([{ name: 'nested' }]);
    });
    expect(committed.flatMap(({ entries }) => entries.map(({ kind }) => kind))).toEqual(['test.outer', 'test.inner']);
  });

  test('that fails is rolled back alone, with what it enqueued', async () => {
    const before = await counts(ada);
    await ada.transaction(async (tx) => {
      persistAutomation(tx, 'kept');
      const nested = tx.transaction(async (inner) => {
        persistAutomation(inner, 'lost');
        await inner.enqueue('test.lost', newId());
        await inner.audit({ action: 'workflow.create', subjectId: newId() });
        throw new Error('inner');
      });
      await expect(nested).rejects.toThrow('inner');
    });
    const after = await counts(ada);
    expect({ ...after, automation: 0, definition: 0 }).toEqual({ ...before, automation: 0, definition: 0 });
    expect(after.automation).toBe(before.automation! + 1);
    expect(committed).toEqual([]);
  });

  test('is lost with the outer one', async () => {
    const before = await counts(ada);
    const outer = ada.transaction(async (tx) => {
      await tx.transaction(async (nested) => void persistAutomation(nested, 'lost'));
      throw new Error('outer');
    });
    await expect(outer).rejects.toThrow('outer');
    expect(await counts(ada)).toEqual(before);
  });
});
