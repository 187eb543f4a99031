import type { Command } from 'commander';
import type { Database } from '../platform/database/database.ts';
import { migrate } from '../platform/database/migrate.ts';
import type { Variables } from '../platform/env.ts';
import { findServers } from './servers.ts';
import type { CommandContext } from './with-database.ts';

interface Migrated {
  /** Names of the migrations that were applied. */
  migrated: string[];
  /** Search attributes that were registered in Temporal. */
  searchAttributes?: string[];
  /** Why Temporal could not be prepared. Processes are not ready until its operator has done it. */
  temporalProblem?: string;
}

/** Migrates the database, and registers the search attributes where TEMPORAL_ADDRESS is known and permits it. */
async function migrateServers(database: Database, settings: Variables): Promise<Migrated> {
  const { temporal, migrationUrl } = findServers(settings);
  const migrated = await migrate(database, migrationUrl);
  if (!temporal) return { migrated };
  try {
    // The client of Temporal is loaded only where there is a server to prepare.
    const { registerSearchAttributesAt } = await import('../temporal/namespace.ts');
    return { migrated, searchAttributes: await registerSearchAttributesAt(temporal.endpoint, temporal.namespace) };
  } catch (error) {
    return { migrated, temporalProblem: error instanceof Error ? error.message : String(error) };
  }
}

/** `migrate`. */
export function addMigrateCommand(command: Command, { withDatabase }: CommandContext): void {
  command.option('--json', 'print one JSON document').action((options) => withDatabase(migrateServers, options));
}
