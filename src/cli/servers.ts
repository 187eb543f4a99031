import { readFile } from 'node:fs/promises';
import { EnvError, readCliSettings, type Variables } from '../platform/env.ts';
import { type TemporalEndpoint, temporalEndpoint } from '../temporal/endpoint.ts';

/** The servers that a command uses. */
export interface Servers {
  databaseUrl: string;
  /** The database URL of the login that owns the tables. */
  migrationUrl: string;
  temporal?: { endpoint: TemporalEndpoint; namespace: string };
}

async function readConnection(path: string): Promise<Variables> {
  try {
    return JSON.parse(await readFile(path, 'utf8')).environment;
  } catch {
    throw new EnvError('Set DATABASE_URL, or start the local stack with "npm start" and run this in the same folder.');
  }
}

/**
 * The settings of a command: the environment. Without DATABASE_URL they are the settings of the local stack that runs
 * in this folder, and the environment overrides them.
 * @throws EnvError when there is neither
 */
export async function findSettings(variables: Variables): Promise<Variables> {
  const { databaseUrl, connectionFile } = readCliSettings(variables);
  if (databaseUrl !== undefined) return variables;
  const given = Object.entries(variables).filter(([, value]) => value !== '');
  return { ...(await readConnection(connectionFile)), ...Object.fromEntries(given) };
}

/** The servers of those settings. */
export function findServers(settings: Variables): Servers {
  const { databaseUrl, migrationUrl, temporalAddress, temporalNamespace, temporalTls, temporalApiKey } =
    readCliSettings(settings);
  const endpointAt = (TEMPORAL_ADDRESS: string) =>
    temporalEndpoint({ TEMPORAL_ADDRESS, TEMPORAL_TLS: temporalTls, TEMPORAL_API_KEY: temporalApiKey });
  return {
    databaseUrl: databaseUrl!,
    migrationUrl: migrationUrl ?? databaseUrl!,
    ...(temporalAddress !== undefined && {
      temporal: { endpoint: endpointAt(temporalAddress), namespace: temporalNamespace },
    }),
  };
}
