import { readdirSync } from 'node:fs';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { type Database, databaseRoles } from './database.ts';
import { areSeparate, prepareLogin } from './database-login.ts';
import { migrationsFolder, ormConfig } from './entity-managers.ts';
import { requireServerVersion } from './server-version.ts';
import { UnknownSchema } from './unknown-schema.ts';

/**
 * Migrations only add, so a database of a later version can be used. A database whose migrations began with others
 * cannot: the migrations of this version would create its tables a second time.
 * @throws UnknownSchema
 */
async function requireKnownSchema(guard: pg.Client): Promise<void> {
  const { rows } = await guard.query<{ exists: boolean }>(
    `select to_regclass('mikro_orm_migrations') is not null as exists`,
  );
  if (!rows[0]?.exists) return;
  const executed = await guard.query<{ name: string }>('select name from mikro_orm_migrations order by id');
  const names = executed.rows.map(({ name }) => name);
  const [first] = readdirSync(migrationsFolder)
    .filter((file) => /^Migration.*\.ts$/.test(file))
    .map((file) => file.replace('.ts', ''))
    .toSorted();
  if (names.length > 0 && first !== undefined && !names.includes(first)) {
    throw new UnknownSchema({ unknown: names[0]!, missing: first });
  }
}

/**
 * Brings the schema up to date, as the owner of the tables, and makes the application's login where that is another one.
 * An advisory lock lets one of two processes that start together wait for the other.
 * @param ownerUrl of the login that owns the tables; the application's own unless given
 * @returns the names of the migrations it ran.
 * @throws EnvError when the server is too old; UnknownSchema
 */
export async function migrate({ settings }: Pick<Database, 'settings'>, ownerUrl = settings.url): Promise<string[]> {
  const guard = new pg.Client({ connectionString: ownerUrl, application_name: 'atelier migrations' });
  // Its queries report a connection that is lost. Without a listener it would end the process as well.
  guard.on('error', () => {});
  const orm = await MikroORM.init(
    ormConfig({ ...settings, url: ownerUrl }, { application_name: 'atelier migrations' }),
  );
  await guard.connect();
  try {
    await requireServerVersion(guard);
    await guard.query("select pg_advisory_lock(hashtext('atelier.migrate'))");
    await requireKnownSchema(guard);
    const migrated = (await orm.migrator.up()).map((migration) => migration.name);
    if (areSeparate(ownerUrl, settings.url)) {
      await prepareLogin(guard, settings.url, Object.values(databaseRoles));
    }
    return migrated;
  } finally {
    // The end of the session frees the lock, whatever state the migration left it in.
    await guard.end();
    await orm.close(true);
  }
}
