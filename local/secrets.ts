import { randomBytes } from 'node:crypto';
import { readJson, writePrivateJson } from './private-file.ts';

/** Named like the environment variables. */
export interface Secrets {
  /** The password of the login that owns the database, for migrations. */
  POSTGRES_PASSWORD: string;
  /** The password of the login that the product connects with. */
  APP_DATABASE_PASSWORD: string;
  /** Key for secrets at rest, `id:base64`. */
  SEALING_KEYS: string;
  URL_SIGNING_KEY: string;
  CRON_SECRET: string;
}

/**
 * Reads the secrets from the file at `path`. Missing ones are created and stored.
 * Throws when the file is damaged: with new secrets, data sealed with the old ones could not be read.
 */
export function keepSecrets(path: string): Secrets {
  const kept = readJson(path) as Partial<Secrets> | undefined;
  const secrets = { ...newSecrets(), ...kept };
  if (Object.keys(secrets).some((name) => kept?.[name as keyof Secrets] === undefined)) writePrivateJson(path, secrets);
  return secrets;
}

function newSecrets(): Secrets {
  return {
    POSTGRES_PASSWORD: randomBytes(24).toString('base64url'),
    APP_DATABASE_PASSWORD: randomBytes(24).toString('base64url'),
    SEALING_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    URL_SIGNING_KEY: randomBytes(32).toString('base64'),
    CRON_SECRET: randomBytes(32).toString('base64url'),
  };
}
