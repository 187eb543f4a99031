import type { Command } from 'commander';
import { addRedirect, listRedirects, removeRedirect } from '../connections/redirects.ts';
import type { CommandContext } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** `org redirects add`, `remove` and `list`. */
export function addRedirectCommands(organization: Command, { withDatabase }: CommandContext): void {
  const redirects = organization
    .command('redirects')
    .description('addresses to which users may be sent back after they connected an account');
  redirects
    .command('add <orgId> <url>')
    .description('allow an address, with any query')
    .option(...json)
    .action((id, url, options) =>
      withDatabase(
        async (database, { NODE_ENV }) => addRedirect(database, id, url, NODE_ENV !== 'production'),
        options,
      ),
    );
  redirects
    .command('remove <orgId> <url>')
    .option(...json)
    .action((id, url, options) => withDatabase((database) => removeRedirect(database, id, url), options));
  redirects
    .command('list <orgId>')
    .option(...json)
    .action((id, options) => withDatabase((database) => listRedirects(database, id), options));
}
