import { readFile } from 'node:fs/promises';
import { EnvError, readCliSettings, type Variables } from '../platform/env.ts';
import { type TemporalEndpoint, temporalEndpoint } from '../temporal/endpoint.ts';

/** The servers that a command uses. */
export interface Servers {
  databaseUrl: string;
  /** Of the login that owns the tables. */
  migrationUrl: string;
  temporal?: { endpoint: TemporalEndpoint; namespace: string };
}

async function readConnection(path: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')).environment;
  } catch {
    throw new EnvError('Set DATABASE_URL, or start the local stack with "npm start" and run this in the same folder.');
  }
}

/**
 * Those that the environment names. Without DATABASE_URL those of the local stack that runs in this folder.
 * @throws EnvError when there is neither
 */
export async function findServers(variables: Variables): Promise<Servers> {
  const {
    databaseUrl: given,
    migrationUrl,
    temporalAddress,
    temporalNamespace,
    temporalTls,
    temporalApiKey,
    connectionFile,
  } = readCliSettings(variables);
  const local = given === undefined ? await readConnection(connectionFile) : {};
  const databaseUrl = given ?? local.DATABASE_URL!;
  const address = temporalAddress ?? local.TEMPORAL_ADDRESS;
  const endpointAt = (TEMPORAL_ADDRESS: string) =>
    temporalEndpoint({
      TEMPORAL_ADDRESS,
      TEMPORAL_TLS: temporalTls ?? local.TEMPORAL_TLS,
      TEMPORAL_API_KEY: temporalApiKey ?? local.TEMPORAL_API_KEY,
    });
  return {
    databaseUrl,
    migrationUrl: migrationUrl ?? local.MIGRATION_DATABASE_URL ?? databaseUrl,
    ...(address !== undefined && { temporal: { endpoint: endpointAt(address), namespace: temporalNamespace } }),
  };
}
