import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createAutomation, listAutomations } from '../../src/automation/definitions/automations.ts';
import { Automation } from '../../src/automation/entities.ts';
import { type Database, databaseRoles } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { statement } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import { openBoundedWork } from './open-bounded-work.ts';

let files: TestDatabase;
let database: Database;
let ada: Scope;
let bob: Scope;

const boundedWork = openBoundedWork();
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  const scopeOf = async (environment: 'live' | 'test') => {
    const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
    return new Scope(database, { organizationId: organizationIds.parse(id)!, environment }, 'test');
  };
  ada = await scopeOf('test');
  bob = await scopeOf('test');
  const workflow = {
    name: 'Hers',
    description: null,
    state: 'active',
    steps: [],
    config: {},
    inputs: [],
    concurrency: null,
    maxDurationSeconds: null,
    mcp: null,
    aiProvider: 'ANTHROPIC',
    aiModel: 'm',
  } as const;
  await createAutomation(
    {
      boundedWork,
      providers: { isListed: () => true },
      tools: { findProblems: async () => [] },
      stepKinds: { check: () => [] },
    },
    ada,
    {
      ...workflow,
      steps: [],
      inputs: [],
    },
  );
});
afterAll(async () => {
  boundedWork.close();
  await database.close();
  await files.drop();
});

/** A statement whose author forgot the tenant: it names the parameters and compares nothing with them. */
const forgetful = statement({
  name: 'test.forgetful',
  row: { name: 'text' },
  text: 'select name from automation where :organizationId is not null and :environment is not null',
});

describe('the second wall', () => {
  test('a forgotten filter shows nothing of another tenant', async () => {
    expect(await ada.rows(forgetful)).toEqual([{ name: 'Hers' }]);
    expect(await bob.rows(forgetful)).toEqual([]);
  });

  test('a statement that never names the tenant cannot be written', () => {
    const text = 'select name from automation where name = :name';
    expect(() =>
      statement({ name: 'test.unbound', parameters: { name: 'text' }, row: { name: 'text' }, text }),
    ).toThrow('does not use organizationId, environment');
  });

  test('the other environment of the same organization is another tenant', async () => {
    const live = new Scope(database, { ...ada.tenant, environment: 'live' }, 'test');
    expect(await live.rows(forgetful)).toEqual([]);
    expect((await listAutomations(live, { limit: 10, offset: 0 })).total).toBe(0);
  });

  test('an entity manager with its filter switched off still sees one tenant only', async () => {
    expect(await bob.read((em) => em.find(Automation, {}, { filters: false }))).toEqual([]);
    expect(await ada.read((em) => em.find(Automation, {}, { filters: false }))).toHaveLength(1);
  });

  test('a row of another tenant cannot be written', async () => {
    const smuggle = statement({
      name: 'test.smuggle',
      parameters: { id: 'uuid', into: 'uuid' },
      text: `insert into outbox select :id, :into, :environment, 'run.start', :id, :organizationId::text, 0, now(), now()`,
      enqueues: 'drain',
    });
    await expect(bob.rows(smuggle, { id: newId(), into: ada.tenant.organizationId })).rejects.toThrow(
      'row-level security',
    );
  });

  test('one connection serves tenants one after the other and never shows one the other’s rows', async () => {
    const narrow = await openTestDatabase(files.url, 1);
    const [hers, his] = [ada, bob].map(({ tenant }) => new Scope(narrow, tenant, 'test'));
    for (let round = 0; round < 20; round++) {
      const seen = await Promise.all([hers!.rows(forgetful), his!.rows(forgetful)]);
      expect(seen).toEqual([[{ name: 'Hers' }], []]);
    }
    await expect(
      his!.transaction((scope) =>
        scope.rows(statement({ name: 'test.broken', text: 'select :organizationId / :environment' })),
      ),
    ).rejects.toThrow();
    expect(await hers!.rows(forgetful)).toHaveLength(1);
    await narrow.close();
  });

  test('without a tenant the role sees no row at all', async () => {
    const client = new pg.Client({ connectionString: files.url, options: `-c role=${databaseRoles.tenant}` });
    await client.connect();
    expect((await client.query('select * from automation')).rows).toEqual([]);
    await expect(client.query('select * from api_key')).rejects.toThrow('permission denied');
    await expect(client.query('select email from organization')).rejects.toThrow('permission denied');
    await client.end();
  });
});

test('the role of accounts has rights on their schema alone', async () => {
  const client = new pg.Client({ connectionString: files.url, options: `-c role=${databaseRoles.auth}` });
  await client.connect();
  expect((await client.query('select * from auth."session"')).rows).toEqual([]);
  for (const table of ['organization', 'api_key', 'automation', 'audit_log']) {
    await expect(client.query(`select * from ${table}`)).rejects.toThrow('permission denied');
  }
  await client.end();
  const tenant = new pg.Client({ connectionString: files.url, options: `-c role=${databaseRoles.tenant}` });
  await tenant.connect();
  await expect(tenant.query('select * from auth."session"')).rejects.toThrow('permission denied');
  await tenant.end();
});

describe('the login of the application', () => {
  const leave = [
    'reset role',
    'set role none',
    'reset session authorization',
    'set session authorization default',
    'reset all; set role none',
  ];
  const gains = [
    'select * from automation',
    'select * from api_key',
    "update organization set plan = 'enterprise'",
    'alter table automation disable row level security',
    'drop policy tenant on automation',
    'create table loot (id int)',
    'create role accomplice superuser',
    'grant atelier_system to atelier_tenant',
    'set role atelier',
    'set session authorization atelier',
    "copy (select 1) to program 'true'",
  ];

  test.each(leave)('gains nothing by %s', async (sql) => {
    for (const role of [databaseRoles.tenant, databaseRoles.system]) {
      const client = new pg.Client({ connectionString: files.url, options: `-c role=${role}` });
      await client.connect();
      await client.query(sql);
      await client.query('set role none');
      for (const gain of gains) {
        const tried = client.query(gain).then(
          () => 'done',
          ({ code }: { code: string }) => code,
        );
        // Insufficient privilege, in each case.
        expect({ gain, code: await tried }).toEqual({ gain, code: '42501' });
      }
      await client.end();
    }
  });

  test('is no superuser, inherits nothing and owns nothing', async () => {
    const owner = new pg.Client({ connectionString: files.ownerUrl });
    await owner.connect();
    const login = new URL(files.url).username;
    const { rows } = await owner.query(
      `select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit,
              (select count(*)::int from pg_shdepend where refobjid = r.oid and deptype = 'o') as owned,
              (select array_agg(roleid::regrole::text order by roleid::regrole::text) from pg_auth_members where member = r.oid) as roles,
              (select bool_or(inherit_option or admin_option) from pg_auth_members where member = r.oid) as more
         from pg_roles r where rolname = $1`,
      [login],
    );
    await owner.end();
    const no = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false };
    expect(rows).toEqual([
      {
        ...no,
        rolreplication: false,
        rolinherit: false,
        owned: 0,
        roles: Object.values(databaseRoles).toSorted(),
        more: false,
      },
    ]);
  });
});

test('the roles own nothing and cannot bypass, and no table is left open', async () => {
  const admin = new pg.Client({ connectionString: files.ownerUrl });
  await admin.connect();
  const roles = await admin.query(
    'select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcanlogin from pg_roles where rolname = any($1) order by 1',
    [Object.values(databaseRoles)],
  );
  const powerless = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcanlogin: false };
  expect(roles.rows).toEqual([
    { rolname: databaseRoles.auth, ...powerless },
    { rolname: databaseRoles.system, ...powerless },
    { rolname: databaseRoles.tenant, ...powerless },
  ]);
  const tables = await admin.query<{
    name: string;
    owner: string;
    forced: boolean;
    scoped: boolean;
    policies: string[];
  }>(
    `select c.relname as name, pg_get_userbyid(c.relowner) as owner, c.relrowsecurity and c.relforcerowsecurity as forced,
            (select count(*) = 2 from pg_attribute a where a.attrelid = c.oid
                and a.attname in ('organization_id', 'environment')) as scoped,
            array(select polname::text from pg_policy p where p.polrelid = c.oid order by 1) as policies
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relname <> 'mikro_orm_migrations'`,
  );
  await admin.end();
  expect(tables.rows.length).toBeGreaterThan(7);
  for (const { name, owner, forced, scoped, policies } of tables.rows) {
    expect({ name, forced }).toEqual({ name, forced: true });
    expect(Object.values(databaseRoles)).not.toContain(owner);
    // A key names the tenant, so it is found before there is one.
    if (scoped && name !== 'api_key') expect({ name, policies }).toEqual({ name, policies: ['system', 'tenant'] });
  }
});

describe('reads that share a connection', () => {
  const forgetfulToo = statement({
    name: 'test.forgetful_sharing',
    row: { name: 'text' },
    text: 'select name from automation where :organizationId is not null and :environment is not null',
    sharesConnection: true,
  });
  const wherever = statement({
    name: 'test.wherever',
    row: { pid: 'int' },
    text: 'select pg_backend_pid() as pid where :organizationId is not null and :environment is not null',
    sharesConnection: true,
  });
  const dividing = statement({
    name: 'test.dividing',
    parameters: { by: 'int' },
    text: 'select 1 / :by where :organizationId is not null and :environment is not null',
    sharesConnection: true,
  });
  const sleeping = statement({
    name: 'test.sleeping',
    text: 'select pg_sleep(8) where :organizationId is not null and :environment is not null',
    sharesConnection: true,
  });
  const alternating = (count: number) => Array.from({ length: count }, (_, n) => [ada, bob][n % 2]!);

  test('see each its own tenant, however they alternate', async () => {
    const seen = await Promise.all(alternating(100).map((scope) => scope.rows(forgetfulToo)));
    expect(seen.filter((rows, n) => rows.length !== (n % 2 === 0 ? 1 : 0))).toEqual([]);
    const pids = await Promise.all(alternating(12).map((scope) => scope.one(wherever)));
    expect(new Set(pids.map((row) => row!.pid)).size).toBe(1);
  });

  test('leave a connection that the next one in the pool finds assigned as it is', async () => {
    for (const one of [ada, bob, ada]) {
      await one.rows(forgetfulToo);
      expect(await bob.rows(forgetful)).toEqual([]);
      expect(await ada.rows(forgetful)).toEqual([{ name: 'Hers' }]);
      expect(await one.transaction((tx) => tx.rows(forgetfulToo))).toHaveLength(one === ada ? 1 : 0);
    }
  });

  test('fail alone', async () => {
    const divided = alternating(12).map((scope, n) => scope.rows(dividing, { by: n === 5 ? 0 : 1 }));
    const ends = await Promise.allSettled(divided);
    expect(ends.map(({ status }) => status === 'rejected')).toEqual(ends.map((_, n) => n === 5));
    expect(await ada.rows(forgetfulToo)).toEqual([{ name: 'Hers' }]);
  });

  test('fail with their connection, and the next ones have another', async () => {
    const operator = new pg.Client(files.url);
    await operator.connect();
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and wait_event = 'PgSleep'`;
    // On a busy machine the one that sleeps may be over first: then they are sent again.
    const ends = await until('it is ended while one sleeps', async () => {
      let isOver = false;
      const waiting = Promise.allSettled([ada.rows(forgetfulToo), bob.rows(sleeping), ada.rows(forgetfulToo)]).finally(
        () => {
          isOver = true;
        },
      );
      const isEnded = async () => (await operator.query(end)).rowCount === 1;
      const outcome = await until('it is ended, or over', async () => ((await isEnded()) ? 'ended' : isOver && 'over'));
      return outcome === 'ended' && waiting;
    });
    await operator.end();
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await Promise.all(alternating(4).map((scope) => scope.rows(forgetfulToo)))).toEqual([
      [{ name: 'Hers' }],
      [],
      [{ name: 'Hers' }],
      [],
    ]);
  });
});
