import type { Command } from 'commander';
import { createKey, listKeys, revokeKey } from '../tenancy/keys.ts';
import type { CommandContext } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

const list = (text: string) => text.split(',').map((item) => item.trim());

/** `key create`, `key list` and `key revoke`. */
export function addKeyCommands(key: Command, { withDatabase }: CommandContext): void {
  key
    .command('create')
    .requiredOption('--org <id>')
    .requiredOption('--env <environment>', 'test or live')
    .option('--name <name>')
    .option('--expires <time>', '2027-01-31 or 2027-01-31T12:00:00Z')
    .option('--variant <variant>', 'A or B: the dialect of answers')
    .option('--scopes <scopes>', 'permissions, separated by commas (default: all)', list)
    .option(...json)
    .action(({ org, env, ...options }) =>
      withDatabase((database) => createKey(database, { organizationId: org, environment: env, ...options }), options),
    );
  key
    .command('list')
    .requiredOption('--org <id>')
    .option(...json)
    .action((options) => withDatabase(async (database) => ({ keys: await listKeys(database, options.org) }), options));
  key
    .command('revoke <id>')
    .option(...json)
    .action((id, options) => withDatabase((database) => revokeKey(database, id), options));
}
