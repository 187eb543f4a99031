import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptInvitation } from '../../src/accounts/invitations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { runCli } from './run-cli.ts';

let files: TestDatabase;
let database: Database;
let org: string;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url, 2);
  org = (await json('org', 'create', '--name', 'Acme', '--plan', 'pro')).id;
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

const run = (args: string[]) =>
  runCli([...args, '--json'], { DATABASE_URL: files.url, PUBLIC_URL: 'https://atelier.example.com/' });

async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await run(args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

const failure = async (...args: string[]) => {
  const { exitCode, stderr } = await run(args);
  expect(exitCode).toBe(1);
  return JSON.parse(stderr).error.code;
};

test('people are invited, listed, sent a link, freed of a lost second factor and removed', async () => {
  const invited = await json('user', 'invite', '--org', org, '--email', 'Ada@Example.com', '--role', 'owner');
  expect(invited).toEqual({
    id: expect.stringMatching(/^inv_/),
    email: 'ada@example.com',
    role: 'owner',
    organizationId: org,
    link: expect.stringMatching(/^https:\/\/atelier\.example\.com\/api\/auth\/invitations\/[\w-]{43}$/),
    expiresAt: expect.any(String),
  });
  expect(Date.parse(invited.expiresAt) - Date.now()).toBeGreaterThan(47.9 * 3_600_000);
  expect(await json('user', 'list')).toEqual({ users: [] });
  expect(await failure('user', 'reset-second-factor', '--email', 'ada@example.com')).toBe('not_found');
  const link = await json('user', 'link', '--email', 'ada@example.com');
  expect(link).toEqual({
    email: 'ada@example.com',
    link: expect.stringMatching(/^https:\/\/atelier\.example\.com\/api\/auth\/link\/[\w-]{43}$/),
    expiresAt: expect.any(String),
  });
  expect(await failure('user', 'link', '--email', 'nobody@example.com')).toBe('not_found');

  expect(await acceptInvitation(database, invited.link.split('/').at(-1))).toBeDefined();
  const second = await json('user', 'invite', '--org', org, '--email', 'bob@example.com', '--role', 'viewer');
  await acceptInvitation(database, second.link.split('/').at(-1));
  const listed = { id: expect.stringMatching(/^usr_/), email: 'ada@example.com', name: 'ada' };
  const { users } = await json('user', 'list', '--org', org);
  expect(users).toHaveLength(2);
  expect(users[0]).toEqual({ ...listed, organizations: [{ id: org, role: 'owner' }] });
  expect(await failure('user', 'invite', '--org', org, '--email', 'ada@example.com', '--role', 'viewer')).toBe(
    'conflict',
  );
  expect(await failure('user', 'invite', '--org', org, '--email', 'x@example.com', '--role', 'king')).toBe(
    'validation_error',
  );

  const reset = await json('user', 'reset-second-factor', '--email', 'Bob@example.com');
  expect(reset).toEqual({ email: 'bob@example.com', reset: true });
  const removed = await json('user', 'remove', '--org', org, '--email', 'bob@example.com');
  expect(removed).toEqual({ email: 'bob@example.com', organizationId: org, removed: true });
  // The last owner stays.
  expect(await failure('user', 'remove', '--org', org, '--email', 'ada@example.com')).toBe('conflict');
});
