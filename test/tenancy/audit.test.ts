import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Database, databaseRoles } from '../../src/platform/database/database.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { runCli } from '../cli/run-cli.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let product: StartedProduct;
let base: string;
beforeAll(async () => {
  product = await sharedProduct();
  base = product.process.api;
});
afterAll(() => product.close());

const cliOn = (databaseUrl: string, ...args: string[]) => runCli([...args, '--json'], { DATABASE_URL: databaseUrl });
const cli = (...args: string[]) => cliOn(product.databaseUrl, ...args);

async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await cli(...args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

interface Entry {
  number: number;
  action: string;
  subject: string;
  actor: string;
  environment: string | null;
  facts: Record<string, unknown>;
}

/** Oldest first. */
const listAudit = async (organizationId: string): Promise<Entry[]> =>
  (await json('audit', 'list', '--org', organizationId)).entries.reverse();

interface Customer {
  organizationId: string;
  keyId: string;
  key: string;
  api: ApiClient;
}

async function newCustomer(): Promise<Customer> {
  const { database } = product;
  const { id: organizationId } = await createOrganization(database, { name: 'Audited', plan: 'enterprise' });
  const { id: keyId, key } = await createKey(database, { organizationId, environment: 'test' });
  return { organizationId, keyId, key, api: apiClient(base, key) };
}

describe('what is done is written down', () => {
  test('by operators and by keys, in order, each with its actor and subject, and without secrets', async () => {
    const { id: organizationId } = await json('org', 'create', '--name', 'Audited', '--plan', 'enterprise');
    const { id: keyId, key } = await json('key', 'create', '--org', organizationId, '--env', 'test');
    const api = apiClient(base, key);
    await json('org', 'update', organizationId, '--plan', 'team', '--email', 'ada@example.com');
    await json('org', 'update', organizationId, '--monthly-credits', '5000');
    await json('credits', 'grant', '--org', organizationId, '--amount', '70', '--reason', 'Goodwill');
    const { id, wf } = await makeWorkflow(api);
    await api.patch(`/api/v1/workflows/${id}`, { name: 'Renamed' });
    await api.patch(`/api/v1/workflows/${id}`, {});
    await api.delete(`/api/v1/workflows/${id}`, { 'x-correlation-id': 'the-deletion' });
    await api.delete(`/api/v1/workflows/${id}`);
    const second = await json('key', 'create', '--org', organizationId, '--env', 'live', '--name', 'CI');
    await json('key', 'revoke', second.id);
    await json('key', 'revoke', second.id);

    const local = { requestId: null, ip: null };
    const operator = { actor: 'operator', correlationId: null, environment: null, subject: organizationId, ...local };
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const byKey = { actor: keyId, environment: 'test', subject: wf, requestId: uuid, ip: '127.0.0.1' };
    const limits = { rateMinute: null, rateDay: null };
    const entries = await listAudit(organizationId);
    expect(entries).toMatchObject([
      { ...operator, action: 'organization.create', facts: { name: 'Audited', plan: 'enterprise', ...limits } },
      { action: 'api_key.create', actor: 'operator', environment: 'test', subject: keyId },
      { ...operator, action: 'organization.update', facts: { given: ['plan', 'email'], plan: 'team' } },
      { action: 'credits.monthly', actor: 'operator', environment: 'live', facts: { monthlyCredits: 5000 } },
      { action: 'credits.grant', actor: 'operator', environment: 'live', facts: { amount: 70, reason: 'Goodwill' } },
      { ...byKey, action: 'workflow.create', facts: { state: 'active' } },
      { ...byKey, action: 'workflow.update', facts: { given: ['name'] } },
      { ...byKey, action: 'workflow.delete', correlationId: 'the-deletion' },
      { action: 'api_key.create', actor: 'operator', environment: 'live', subject: second.id, facts: { name: 'CI' } },
      { action: 'api_key.revoke', actor: 'operator', environment: 'live', subject: second.id },
    ]);
    expect(entries.map(({ number }) => number)).toEqual(entries.map((_, index) => index + 1));
    for (const secret of [key.slice(8), second.key.slice(8), 'ada@example.com']) {
      expect(JSON.stringify(entries)).not.toContain(secret);
    }
    const latest = await json('audit', 'list', '--org', organizationId, '--limit', '2');
    expect(latest.entries.map(({ number }: Entry) => number)).toEqual([10, 9]);
    expect(await json('audit', 'verify', '--org', organizationId)).toEqual({
      verified: [{ organizationId, entries: 10, lastHash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });
  });

  test('once per Idempotency-Key, and by many writers at once without a gap', async () => {
    const { organizationId, api } = await newCustomer();
    const steps = [{ id: 'say', type: 'prompt', prompt: 'x' }];
    const once = { 'idempotency-key': 'one' };
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => api.post('/api/v1/workflows', { name: 'Once', steps }, once)),
      ...Array.from({ length: 16 }, (_, n) => api.post('/api/v1/workflows', { name: `Many ${n}`, steps })),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const ids = [...new Set(answers.map(({ body }) => body.data.id))];
    expect(ids).toHaveLength(17);
    await Promise.all(
      ids.map((id, n) =>
        n % 2 ? api.delete(`/api/v1/workflows/${id}`) : api.patch(`/api/v1/workflows/${id}`, { name: 'x' }),
      ),
    );
    const { verified } = await json('audit', 'verify', '--org', organizationId);
    expect(verified).toMatchObject([{ entries: 2 + 17 + 17 }]);
  });

  test('nothing that was refused', async () => {
    const { organizationId, api } = await newCustomer();
    await api.post('/api/v1/workflows', { name: 'x', steps: [{ id: 'no', type: 'nonsense' }] });
    await api.patch('/api/v1/workflows/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', { name: 'x' });
    await api.delete('/api/v1/workflows/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000');
    await cli('credits', 'grant', '--org', organizationId, '--amount', '0');
    await cli('key', 'create', '--org', organizationId, '--env', 'nowhere');
    expect(await listAudit(organizationId)).toHaveLength(2);
  });
});

describe('killed between the write and the commit', () => {
  test.each(['create', 'update', 'delete'])('a workflow’s %s and its entry are both not there', async (what) => {
    const { organizationId, key, api } = await newCustomer();
    const { id } = await makeWorkflow(api, { name: 'Before', steps: [] });
    const doomed = await product.start(['api'], { FAIL_POINT: 'audit.recorded' });
    const client = apiClient(doomed.api, key);
    const path = `/api/v1/workflows/${id}`;
    const acts: Record<string, () => Promise<unknown>> = {
      create: () => client.post('/api/v1/workflows', { name: 'Second', steps: [] }, { 'idempotency-key': 'k' }),
      update: () => client.patch(path, { name: 'After' }),
      delete: () => client.delete(path),
    };
    await expect(acts[what]!()).rejects.toThrow();
    await doomed.ended;

    const { total, workflows } = (await api.get('/api/v1/workflows', { 'x-api-variant': 'B' })).body.data;
    expect({ total, name: workflows[0].name }).toEqual({ total: 1, name: 'Before' });
    expect((await listAudit(organizationId)).map(({ action }) => action)).toEqual([
      'organization.create',
      'api_key.create',
      'workflow.create',
    ]);
    // No transaction waits for the dead process.
    expect(
      (await api.post('/api/v1/workflows', { name: 'Second', steps: [] }, { 'idempotency-key': 'k' })).status,
    ).toBe(201);
    expect((await json('audit', 'verify', '--org', organizationId)).verified).toMatchObject([{ entries: 4 }]);
  });
});

/** A database of these tests' own: they lock whole tables, and break logs. */
let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestDatabase(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** An organization there, whose log has an entry for itself and one for each key. */
async function newLog(keys: number): Promise<string> {
  const { id: organizationId } = await createOrganization(database, { name: 'Audited', plan: 'enterprise' });
  for (let n = 0; n < keys; n++) await createKey(database, { organizationId, environment: 'test' });
  return organizationId;
}

async function withClient<T>(options: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: testDatabase.ownerUrl, ...options });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

describe('an entry is for ever', () => {
  beforeAll(() => newLog(1));

  const changes = [
    "update audit_log set actor = 'nobody'",
    'delete from audit_log',
    'truncate audit_log',
    'truncate organization cascade',
  ];

  test.each(Object.values(databaseRoles))('%s may not touch it', (role) =>
    withClient({ options: `-c role=${role}` }, async (client) => {
      const refusal = /permission denied|rows of audit_log are never changed or removed/;
      for (const change of changes) await expect(client.query(change)).rejects.toThrow(refusal);
    }),
  );

  test('nor may the owner of the tables', async () => {
    const organizationId = await newLog(1);
    await withClient({}, async (client) => {
      for (const change of changes) await expect(client.query(change)).rejects.toThrow('never changed or removed');
    });
    const { stdout } = await cliOn(testDatabase.url, 'audit', 'list', '--org', organizationId);
    expect(JSON.parse(stdout).entries).toHaveLength(2);
  });

  test('a tenant’s connection reads and extends its own organization’s log alone', async () => {
    const [ada, bob] = [organizationIds.parse(await newLog(1)), organizationIds.parse(await newLog(1))];
    await withClient({ options: `-c role=${databaseRoles.tenant}` }, async (client) => {
      expect((await client.query('select from audit_log')).rowCount).toBe(0);
      await client.query("select set_config('atelier.organization_id', $1, false)", [ada]);
      const { rows } = await client.query('select distinct organization_id as id from audit_log');
      expect(rows).toEqual([{ id: ada }]);
      const forge = `insert into audit_log select $1, 3, null, action, subject_id, actor, null, facts, recorded_at, hash, hash
                       from audit_log limit 1`;
      await expect(client.query(forge, [bob])).rejects.toThrow('row-level security');
    });
  });
});

describe('a log that was changed behind PostgreSQL’s back', () => {
  const tampering: [string, number, string][] = [
    ['a word of an entry was changed', 2, "update audit_log set actor = 'nobody' where number = 2"],
    ['its facts were changed', 3, `update audit_log set facts = facts || '{"state":"draft"}' where number = 3`],
    ['its time was changed', 3, "update audit_log set recorded_at = recorded_at + interval '1 ms' where number = 3"],
    ['an entry was removed', 2, 'delete from audit_log where number = 2'],
    ['the first entries were removed', 1, 'delete from audit_log where number < 3'],
    [
      'entries were removed and the others moved up',
      2,
      'delete from audit_log where number = 2; update audit_log set number = number - 1 where number > 2',
    ],
    [
      'an entry was put before the first',
      1,
      `insert into audit_log select organization_id, 0, environment, action, subject_id, actor, correlation_id, facts,
                                    recorded_at, previous_hash, hash from audit_log where number = 1`,
    ],
  ];

  test('is found, with the first entry that is not what was written', async () => {
    const whole = await newLog(3);
    const findings: string[] = [];
    for (const [, number, sql] of tampering) {
      const organizationId = await newLog(3);
      await withClient({}, async (client) => {
        const own = `where organization_id = '${organizationIds.parse(organizationId)}' and number`;
        // A superuser's way past the triggers.
        const tamper = sql.replaceAll('where number', own);
        await client.query(`begin; set local session_replication_role = replica; ${tamper}; commit`);
      });
      findings.push(`The audit log of ${organizationId} is broken from entry ${number} on.`);
    }
    const { exitCode, stdout, stderr } = await cliOn(testDatabase.url, 'audit', 'verify');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'audit_broken', message: findings.join(' ') } });
    expect((await cliOn(testDatabase.url, 'audit', 'verify', '--org', whole)).exitCode).toBe(0);
  });
});

test('commands that make no sense are refused', async () => {
  const unknown = 'org_00000000000000000000000000000000';
  const codes = await Promise.all(
    [
      ['audit', 'list'],
      ['audit', 'list', '--org', unknown],
      ['audit', 'list', '--org', unknown, '--limit', 'all'],
      ['audit', 'verify', '--org', unknown],
    ].map(async (args) => JSON.parse((await cli(...args)).stderr).error.code),
  );
  expect(codes).toEqual(['validation_error', 'not_found', 'validation_error', 'not_found']);
});
