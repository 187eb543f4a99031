import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvError } from '../src/platform/env.ts';
import type { DataFolder } from './data-folder.ts';

/** The version of the PostgreSQL that the project installs: another one cannot read its files. */
const postgresMajor = 18;

/** One sentence: why the data cannot be used, and how to begin anew. */
export const unusableData = (path: string, why: string): EnvError =>
  new EnvError(
    `The data in ${path} cannot be used, because ${why}: "npm start -- --reset" moves it aside and begins anew, and an earlier version of Atelier can still read it.`,
  );

/** The first line of a file; undefined where there is none. */
const firstLine = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n')[0]!.trim() : undefined);

/** To be called before a server is started. @throws EnvError where the files alone show that they cannot be used */
export function requireUsableFiles({ path, postgres, secrets }: DataFolder): void {
  const version = firstLine(join(postgres, 'PG_VERSION'));
  if (version === undefined) return;
  if (version !== String(postgresMajor)) {
    throw unusableData(path, `its files are of PostgreSQL ${version} and this version has PostgreSQL ${postgresMajor}`);
  }
  if (!existsSync(secrets)) throw unusableData(path, 'the passwords of its database, secrets.json, are missing');
}
