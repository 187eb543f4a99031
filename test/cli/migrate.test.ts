import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { databaseRoles } from '../../src/platform/database/database.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { spawnCli } from './run-cli.ts';

/** Names of this test's own: logins belong to all databases of the server. */
const name = `cli_${randomBytes(4).toString('hex')}`;
const [owner, application] = [`${name}_owner`, `${name}_app`];
const roles = Object.values(databaseRoles).join(', ');

let admin: pg.Client;
beforeEach(async () => {
  admin = new pg.Client({ connectionString: runningServers().adminUrl });
  await admin.connect();
  // As self-hosting.md says: a login that owns the database and may create others, and no superuser.
  await admin.query(`create role ${owner} login createrole password 'owner'`);
  // It would have made them, were this the first database of the server.
  await admin.query(`grant ${roles} to ${owner} with admin option`);
  await admin.query(`create database ${name} owner ${owner}`);
});
afterEach(async () => {
  await admin.query(`drop database ${name} with (force)`);
  await admin.query(`drop role if exists ${application}`);
  await admin.query(`drop role ${owner}`);
  await admin.end();
});

function urlOf(username: string, password: string): string {
  const url = new URL(runningServers().adminUrl);
  Object.assign(url, { pathname: `/${name}`, username, password: encodeURIComponent(password) });
  return url.href;
}

test('migrate brings an empty database up to date, once, and gives the application a login', async () => {
  const ownerUrl = urlOf(owner, 'owner');
  const alone = async () => JSON.parse((await spawnCli(['migrate', '--json'], { DATABASE_URL: ownerUrl })).stdout);
  const [one, other] = await Promise.all([alone(), alone()]);
  const run: string[] = [...one.migrated, ...other.migrated];
  expect(run[0]).toMatch(/^Migration\d+_platform$/);
  expect(new Set(run).size).toBe(run.length);
  expect(await alone()).toEqual({ migrated: [] });

  // That was an installation with one login. Now the application gets one of its own, and later another password.
  const migrateFor = (url: string) =>
    spawnCli(['migrate', '--json'], { DATABASE_URL: url, MIGRATION_DATABASE_URL: ownerUrl });
  const create = (url: string) =>
    spawnCli(['org', 'create', '--name', 'Ada', '--plan', 'pro', '--json'], { DATABASE_URL: url });
  const [first, second] = [urlOf(application, 'first'), urlOf(application, "it's; drop role atelier; --")];
  for (const url of [first, second]) {
    const { stdout, stderr } = await migrateFor(url);
    expect({ stdout: stdout && JSON.parse(stdout), stderr }).toEqual({ stdout: { migrated: [] }, stderr: '' });
    expect(JSON.parse((await create(url)).stdout)).toMatchObject({ name: 'Ada' });
  }
  expect((await create(first)).exitCode).toBe(1);

  // By itself it changes no schema, and a login that can do more is refused as the application's.
  await admin.query(`alter role ${application} createrole`);
  const refused = await migrateFor(second);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('more rights than the application needs');
});

test('migrate reports connections that were lost like any other failure', async () => {
  const ownerUrl = urlOf(owner, 'owner');
  const holder = new pg.Client({ connectionString: ownerUrl });
  await holder.connect();
  // The migration waits for this transaction, and the connection that keeps others from migrating is idle meanwhile.
  await holder.query('begin');
  await holder.query('create table mikro_orm_migrations (id int)');
  const migrating = spawnCli(['migrate', '--json'], { DATABASE_URL: ownerUrl });
  await until('it migrates, and loses its connections', async () => {
    const { rows } = await admin.query(
      `with own as (select * from pg_stat_activity where datname = $1 and application_name = 'atelier migrations')
       select pg_terminate_backend(pid) from own where exists (select from own where wait_event_type = 'Lock')`,
      [name],
    );
    return rows.length > 1;
  });
  const { exitCode, stderr } = await migrating;
  expect(stderr).toMatch(/^\{"error":.*terminat.*\}\n$/);
  expect(exitCode).toBe(1);
  await holder.end();
});
