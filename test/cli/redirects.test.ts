import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { openConnections } from '../connections/open-connections.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { runCli } from './run-cli.ts';

let files: TestDatabase;
let org: string;
beforeAll(async () => {
  files = await createTestDatabase();
  org = (await json('org', 'create', '--name', 'Acme', '--plan', 'pro')).id;
});
afterAll(() => files.drop());

const run = (args: string[], env: Record<string, string> = {}) =>
  runCli([...args, '--json'], { DATABASE_URL: files.url, ...env });

async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await run(args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

const failure = async (args: string[], env?: Record<string, string>) => {
  const { exitCode, stderr } = await run(args, env);
  expect(exitCode).toBe(1);
  return JSON.parse(stderr).error;
};

const redirects = (command: string, ...args: string[]) => json('org', 'redirects', command, org, ...args);

test('an address is added once, found by people who were sent away, and removed', async () => {
  expect(await redirects('list')).toEqual({ redirects: [] });
  const first = { redirects: ['https://app.example.com/done'] };
  expect(await redirects('add', 'https://App.example.com:443/done')).toEqual(first);
  expect(await redirects('add', 'https://app.example.com/done')).toEqual(first);
  const both = { redirects: [...first.redirects, 'http://127.0.0.1:8080/'] };
  expect(await redirects('add', 'http://127.0.0.1:8080')).toEqual(both);
  expect(await redirects('list')).toEqual(both);
  expect(await redirects('remove', 'http://127.0.0.1:8080')).toEqual(first);
  expect(await redirects('remove', 'https://nowhere.example')).toEqual(first);

  const database = await openTestDatabase(files.url, 2);
  const { connections, close } = openConnections(database, { providers: { google: undefined } });
  const scope = new Scope(database, { organizationId: organizationIds.parse(org)!, environment: 'test' }, 'test');
  const begin = (redirectUrl: string) =>
    connections.begin(scope, { purpose: 'calendar', provider: 'google', subject: {}, redirectUrl });
  await begin('https://app.example.com/done?x=1');
  await redirects('remove', 'https://app.example.com/done');
  await expect(begin('https://app.example.com/done')).rejects.toMatchObject({ code: 'validation_error' });
  await close();
  await database.close();
  const { entries } = await json('audit', 'list', '--org', org);
  const actions = entries.map(({ action }: { action: string }) => action);
  expect(actions.filter((action: string) => action.startsWith('redirect.')).toSorted()).toEqual([
    'redirect.add',
    'redirect.add',
    'redirect.remove',
    'redirect.remove',
  ]);
});

test('what makes no sense is refused', async () => {
  const add = ['org', 'redirects', 'add', org];
  const wrong = ['http://app.example.com', 'ftp://a.example', 'https://a:b@a.example', 'https://a.example/#x', 'x'];
  for (const url of [...wrong, 'https://a.example/?x=1', `https://a.example/${'x'.repeat(2_048)}`]) {
    expect(await failure([...add, url])).toEqual({
      code: 'validation_error',
      message: expect.stringMatching(/^url: /),
    });
  }
  const inProduction = await failure([...add, 'http://127.0.0.1:8080'], { NODE_ENV: 'production' });
  expect(inProduction.code).toBe('validation_error');
  for (const command of ['add', 'remove']) {
    const unknown = ['org', 'redirects', command, 'org_00000000000000000000000000000000', 'https://a.example'];
    expect((await failure(unknown)).code).toBe('not_found');
    expect((await failure(['org', 'redirects', command, org])).code).toBe('validation_error');
  }
});

test('an organization has twenty at most', async () => {
  for (let count = 0; count < 20; count++) await redirects('add', `https://a.example/${count}`);
  const { code, message } = await failure(['org', 'redirects', 'add', org, 'https://a.example/20']);
  expect([code, message]).toEqual(['validation_error', 'url: An organization has at most 20 addresses.']);
  expect((await redirects('add', 'https://a.example/0')).redirects).toHaveLength(20);
});
