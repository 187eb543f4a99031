import type { Command } from 'commander';
import { resealConnections } from '../connections/reseal.ts';
import { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { readSealingKeys, type Variables } from '../platform/env.ts';
import { resealToolSecrets } from '../tools/reseal.ts';
import { resealSubscriptions } from '../webhooks/reseal.ts';
import type { WithDatabase } from './with-database.ts';

/** `secrets reseal`. */
export function addSecretCommands(program: Command, withDatabase: WithDatabase, variables: Variables): void {
  program
    .command('secrets')
    .description('secrets stored in the database')
    .command('reseal')
    .description('encrypt all secrets with the first key of SEALING_KEYS, so that the others can be removed')
    .option('--json', 'print one JSON document')
    .action((options) => {
      const sealer = new Sealer(readSealingKeys(variables));
      const reseal = async (database: Database) =>
        (await resealSubscriptions(database, sealer)) +
        (await resealConnections(database, sealer)) +
        (await resealToolSecrets(database, sealer));
      return withDatabase(async (database) => ({ resealed: await reseal(database) }), options);
    });
}
