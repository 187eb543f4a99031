import type { Command } from 'commander';
import { Sealer } from '../platform/crypto.ts';
import { readSealingKeys, type Variables } from '../platform/env.ts';
import { reseal } from '../platform/reseal.ts';
import { catalog } from '../services.ts';
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
      return withDatabase(async (database) => ({ resealed: await reseal(database, sealer, catalog.sealed) }), options);
    });
}
