import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readLocalSettings } from '../../src/platform/env.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { newEmail } from '../accounts/people.ts';
import { apiClient } from '../api-client.ts';
import type { OwnApi } from '../own-api.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { runCli, runProgram, spawnCli } from './run-cli.ts';

let product: StartedProduct;
let api: OwnApi;
beforeAll(async () => {
  product = await sharedProduct();
  api = await product.serve();
});
afterAll(() => product.close());

const cli = (args: string[], env: Record<string, string> = { DATABASE_URL: product.databaseUrl }) => runCli(args, env);

/** Runs a command that must succeed, and reads its one document. */
async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await cli([...args, '--json']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

const createOrganization = (plan = 'pro') => json('org', 'create', '--name', 'Acme', '--plan', plan);

/** The failure of a command: exit code 1, nothing on standard output, one document on standard error. */
async function failure(args: string[], env?: Record<string, string>) {
  const { exitCode, stdout, stderr } = await cli(args, env);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  const document = JSON.parse(stderr);
  expect(document).toEqual({ error: { code: expect.any(String), message: expect.stringMatching(/\w/) } });
  return document.error as { code: string; message: string };
}

/** The codes of commands that must fail, which run at the same time. */
const failuresOf = (...commands: string[][]) =>
  Promise.all(commands.map(async (args) => (await failure([...args, '--json'])).code));

describe('org', () => {
  test('create makes an organization and prints exactly what it is', async () => {
    const email = newEmail();
    const given = ['--name', 'Ümläut & Söhne 🦊', '--plan', 'enterprise', '--email', email];
    const made = await json('org', 'create', ...given);
    expect(made).toEqual({
      id: expect.stringMatching(/^org_[0-9a-f]{32}$/),
      name: 'Ümläut & Söhne 🦊',
      plan: 'enterprise',
    });
    const { rows } = await product.database.pool.query('select id from organization where email = $1', [email]);
    expect(rows).toEqual([{ id: organizationIds.parse(made.id) }]);
    const { organizations } = await json('org', 'list');
    expect(organizations).toContainEqual({ ...made, createdAt: expect.any(String) });
  });

  test('update changes what is given, which holds for requests at once', async () => {
    const { id } = await createOrganization();
    const { key } = await json('key', 'create', '--org', id, '--env', 'live');
    const health = async () => (await apiClient(api.api, key).get('/v1/health')).body;
    expect(await health()).toEqual({ status: 'healthy', organization: 'Acme', plan: 'pro' });
    expect(await json('org', 'update', id, '--plan', 'team')).toEqual({ id, name: 'Acme', plan: 'team' });
    expect(await health()).toMatchObject({ plan: 'team' });
    expect(await json('org', 'update', id, '--email', 'new@acme.example')).toMatchObject({ plan: 'team' });
  });

  test('refuses what makes no sense, each with one document', async () => {
    const create = ['org', 'create', '--name', 'x', '--plan'];
    const codes = await failuresOf(
      [...create, 'gold'],
      ...['nobody', 'a@b.example,d@e.example', `${'x'.repeat(400)}@y`].map((to) => [...create, 'pro', '--email', to]),
      [...create, 'pro', '--colour', 'red'],
      ['org', 'create', '--name', 'x'],
      ['org', 'update', 'org_00000000000000000000000000000000', '--plan', 'pro'],
      ['org', 'update', 'nonsense', '--plan', 'pro'],
    );
    expect(codes).toEqual([...Array(6).fill('validation_error'), 'not_found', 'not_found']);
  });
});

describe('key', () => {
  test('create prints the key once, and the key opens the door it is for', async () => {
    const { id: org } = await createOrganization();
    for (const environment of ['test', 'live']) {
      const made = await json('key', 'create', '--org', org, '--env', environment, '--name', 'CI');
      expect(made).toEqual({
        id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
        key: expect.stringMatching(new RegExp(`^sk_${environment}_[0-9A-Za-z]{42}$`)),
        prefix: `sk_${environment}_`,
        environment,
        expiresAt: null,
      });
      expect(await apiClient(api.api, made.key).get('/v1/health')).toMatchObject({ status: 200 });
    }
  });

  test('create takes a dialect and an expiration date', async () => {
    const { id: org } = await createOrganization();
    const expires = '2099-12-31T23:00:00+02:00';
    const made = await json('key', 'create', '--org', org, '--env', 'test', '--variant', 'B', '--expires', expires);
    expect(made.expiresAt).toBe('2099-12-31T21:00:00.000Z');
    const { body } = await apiClient(api.api, made.key).get('/v1/workflows');
    expect(body.data).toEqual({ workflows: [], total: 0, limit: 20, offset: 0 });
  });

  test('create takes the scopes that the key has, and no others', async () => {
    const { id: org } = await createOrganization();
    const create = ['key', 'create', '--org', org, '--env', 'test', '--scopes'];
    const { id, key } = await json(...create, 'workflows:read,runs:read');
    const { keys } = await json('key', 'list', '--org', org);
    expect(keys).toMatchObject([{ id, scopes: ['workflows:read', 'runs:read'] }]);
    const client = apiClient(api.api, key);
    expect((await client.get('/v1/workflows')).status).toBe(200);
    expect(await client.post('/v1/workflows', { name: 'x' })).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { required: 'workflows:write' } } },
    });
    const codes = await failuresOf([...create, 'workflows:admin'], [...create, ''], [...create, 'workflows:read,']);
    expect(codes).toEqual(Array(3).fill('validation_error'));
    expect((await json('key', 'list', '--org', org)).keys).toHaveLength(1);
  });

  test('list shows every key without its secret, newest first', async () => {
    const { id: org } = await createOrganization();
    const first = await json('key', 'create', '--org', org, '--env', 'test', '--name', 'first');
    const second = await json('key', 'create', '--org', org, '--env', 'live', '--expires', '2099-01-01T00:00:00Z');
    await json('key', 'revoke', first.id);
    const { stdout } = await cli(['key', 'list', '--org', org, '--json']);
    for (const { key } of [first, second]) expect(stdout).not.toContain(key.slice(8, 40));
    const scopes = expect.arrayContaining(['workflows:read', 'workflows:write', 'runs:read', 'runs:execute']);
    const createdAt = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(JSON.parse(stdout)).toEqual({
      keys: [
        {
          id: second.id,
          name: 'live key',
          prefix: 'sk_live_',
          lastFour: second.key.slice(-4),
          environment: 'live',
          scopes,
          status: 'active',
          createdAt,
          lastUsedAt: null,
          expiresAt: '2099-01-01T00:00:00.000Z',
        },
        {
          id: first.id,
          name: 'first',
          prefix: 'sk_test_',
          lastFour: first.key.slice(-4),
          environment: 'test',
          scopes,
          status: 'revoked',
          createdAt,
          lastUsedAt: null,
          expiresAt: null,
        },
      ],
    });
    const other = await createOrganization();
    expect(await json('key', 'list', '--org', other.id)).toEqual({ keys: [] });
  });

  test('revoke closes the door by the next request, and may be repeated', async () => {
    const { id: org } = await createOrganization();
    const { id, key } = await json('key', 'create', '--org', org, '--env', 'test');
    const client = apiClient(api.api, key);
    expect(await client.get('/v1/health')).toMatchObject({ status: 200 });
    expect(await json('key', 'revoke', id)).toEqual({ id, status: 'revoked' });
    expect(await client.get('/v1/health')).toMatchObject({ status: 401 });
    expect(await json('key', 'revoke', id)).toEqual({ id, status: 'revoked' });
  });

  test('refuses what makes no sense, and issues nothing', async () => {
    const { id } = await createOrganization();
    const create = ['key', 'create', '--org', id, '--env'];
    const unknown = ['--org', 'org_00000000000000000000000000000000'];
    const codes = await failuresOf(
      [...create, 'prod'],
      [...create, 'test', '--variant', 'C'],
      [...create, 'test', '--expires', 'tomorrow'],
      [...create, 'test', '--expires', '2001-01-01T00:00:00Z'],
      ['key', 'create', '--org', id],
      ['key', 'create', ...unknown, '--env', 'test'],
      ['key', 'list', ...unknown],
      ['key', 'revoke', 'key_00000000000000000000000000000000'],
      ['key', 'revoke', 'nonsense'],
    );
    expect(codes).toEqual([...Array(5).fill('validation_error'), ...Array(4).fill('not_found')]);
    expect(await json('key', 'list', '--org', id)).toEqual({ keys: [] });
  });
});

describe('in any case', () => {
  test('without --json people read lines, and failures are still documents', async () => {
    const { stdout } = await cli(['org', 'create', '--name', 'Lines', '--plan', 'pro']);
    expect(stdout).toMatch(/^id: org_[0-9a-f]{32}\nname: Lines\nplan: pro\n$/);
    expect(await failure(['org', 'create'])).toMatchObject({ code: 'validation_error' });
  });

  test('no command and an unknown one fail; --help does not', async () => {
    await Promise.all([[], ['org'], ['nonsense'], ['key', 'nonsense']].map((args) => failure(args)));
    const { exitCode, stdout } = await spawnCli(['--help'], {});
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('migrate') });
  });

  test('an unusable database is reported in one document', async () => {
    const args = ['org', 'create', '--name', 'x', '--plan', 'pro', '--json'];
    const secret = 'hunter2';
    for (const url of ['nonsense', `postgresql://x:${secret}@127.0.0.1:1/x`]) {
      const { message } = await failure(args, { DATABASE_URL: url });
      expect(message).not.toContain(secret);
    }
  });

  test('without DATABASE_URL it is the local stack’s that runs in this folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'atelier-cli-'));
    try {
      const args = ['org', 'create', '--name', 'Local', '--plan', 'pro', '--json'];
      const env = { ATELIER_DATA: folder };
      expect(await failure(args, env)).toMatchObject({ code: 'environment' });
      writeFileSync(
        join(folder, 'connection.json'),
        JSON.stringify({ environment: { DATABASE_URL: product.databaseUrl } }),
      );
      const { exitCode, stdout } = await spawnCli(args, env, tmpdir());
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ name: 'Local' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('"npm run --silent cli --" prints the document and nothing else, and passes the exit code on', async () => {
    const env = { ...readLocalSettings().parentEnvironment, DATABASE_URL: product.databaseUrl };
    const npm = (...args: string[]) => runProgram('npm', ['run', '--silent', 'cli', '--', ...args], env);
    const made = await npm('org', 'create', '--name', 'Through npm', '--plan', 'pro', '--json');
    expect(made.exitCode).toBe(0);
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'Through npm', plan: 'pro' });
    const failed = await npm('org', 'create', '--json');
    expect(failed).toMatchObject({ exitCode: 1, stdout: '' });
    const document = failed.stderr.trim().split('\n').at(-1);
    expect(JSON.parse(document!)).toMatchObject({ error: { code: 'validation_error' } });
  });
});
