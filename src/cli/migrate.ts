import { type Database, migrate } from '../platform/database.ts';
import type { Variables } from '../platform/env.ts';
import { registerSearchAttributesAt } from '../temporal/namespace.ts';
import { findServers } from './servers.ts';

export interface Migrated {
  /** Names of the migrations that were applied. */
  migrated: string[];
  /** Search attributes that were registered in Temporal. */
  searchAttributes?: string[];
  /** Why Temporal could not be prepared. Processes are not ready until its operator has done it. */
  temporalProblem?: string;
}

/** Migrates the database, and registers the search attributes where TEMPORAL_ADDRESS is known and permits it. */
export async function migrateServers(database: Database, settings: Variables): Promise<Migrated> {
  const { temporal, migrationUrl } = findServers(settings);
  const migrated = await migrate(database, migrationUrl);
  if (!temporal) return { migrated };
  try {
    return { migrated, searchAttributes: await registerSearchAttributesAt(temporal.endpoint, temporal.namespace) };
  } catch (error) {
    return { migrated, temporalProblem: error instanceof Error ? error.message : String(error) };
  }
}
