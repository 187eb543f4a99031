import type { Command } from 'commander';
import { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { readSealingKeys } from '../platform/env.ts';
import { resealSubscriptions } from '../webhooks/reseal.ts';

/** Opens the database, does the work and prints what comes of it. */
type WithDatabase = (work: (database: Database) => Promise<object>, output: { json?: boolean }) => Promise<void>;

/** `secrets reseal`. */
export function addSecretCommands(program: Command, withDatabase: WithDatabase): void {
  program
    .command('secrets')
    .description('secrets at rest')
    .command('reseal')
    .description('seal everything with the first of SEALING_KEYS, so that the others can be taken out')
    .option('--json', 'print one JSON document')
    .action((options) => {
      const sealer = new Sealer(readSealingKeys());
      return withDatabase(async (database) => ({ resealed: await resealSubscriptions(database, sealer) }), options);
    });
}
