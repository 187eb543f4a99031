import { readFile } from 'node:fs/promises';
import { EnvError, readCliSettings, type Variables } from '../platform/env.ts';

/** DATABASE_URL, or the database of the local stack that runs in this folder. @throws EnvError when there is neither */
export async function findDatabaseUrl(variables: Variables): Promise<string> {
  const { databaseUrl, connectionFile } = readCliSettings(variables);
  if (databaseUrl) return databaseUrl;
  try {
    return JSON.parse(await readFile(connectionFile, 'utf8')).environment.DATABASE_URL;
  } catch {
    throw new EnvError('Set DATABASE_URL, or start the local stack with "npm start" and run this in the same folder.');
  }
}
