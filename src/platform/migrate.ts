import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { type Database, databaseRoles } from './database.ts';
import { areSeparate, prepareLogin } from './database-login.ts';
import { ormConfig } from './entity-managers.ts';
import { requireServerVersion } from './server-version.ts';

/**
 * Brings the schema up to date, as the owner of the tables, and makes the application's login where that is another one.
 * Two processes that start at once take turns on an advisory lock.
 * @param ownerUrl of the login that owns the tables; the application's own unless given
 * @returns the names of the migrations it ran.
 * @throws EnvError when the server is too old
 */
export async function migrate({ settings }: Pick<Database, 'settings'>, ownerUrl = settings.url): Promise<string[]> {
  const guard = new pg.Client({ connectionString: ownerUrl, application_name: 'atelier migrations' });
  const orm = await MikroORM.init(
    ormConfig({ ...settings, url: ownerUrl }, { application_name: 'atelier migrations' }),
  );
  await guard.connect();
  try {
    await requireServerVersion(guard);
    await guard.query("select pg_advisory_lock(hashtext('atelier.migrate'))");
    const migrated = (await orm.migrator.up()).map((migration) => migration.name);
    if (areSeparate(ownerUrl, settings.url)) {
      await prepareLogin(guard, settings.url, Object.values(databaseRoles));
    }
    return migrated;
  } finally {
    // Ending the session is what frees the lock, whatever state the migration left it in.
    await guard.end();
    await orm.close(true);
  }
}
