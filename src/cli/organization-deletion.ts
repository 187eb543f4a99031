import type { Command } from 'commander';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { deleteOrganization, findOrganization, restoreOrganization } from '../tenancy/organizations.ts';
import type { CommandContext, Terminal } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** The operator must repeat the name of the organization to be deleted. @throws AppError validation_error */
async function confirm(database: Database, id: string, yes: string | undefined, ask: Terminal['ask']): Promise<void> {
  const organization = await findOrganization(database, id);
  const formatted = organizationIds.format(organization.id);
  if (yes !== undefined) {
    if (organizationIds.parse(yes) === organization.id) return;
    throw new AppError('validation_error', '--yes names another organization. Nothing was deleted.');
  }
  if (!ask) throw new AppError('validation_error', `Without a terminal, confirm with --yes ${formatted}.`);
  const typed = await ask(`Type the name of the organization to delete it (${organization.name}): `);
  if (typed.trim() !== organization.name.trim()) {
    throw new AppError('validation_error', 'The name does not match. Nothing was deleted.');
  }
}

/** `org delete` and `org restore`. */
export function addDeletionCommands(organization: Command, { withDatabase, ask }: CommandContext): void {
  organization
    .command('delete <id>')
    .description('delete an organization with everything that it has; it can be restored for 30 days')
    .option('--yes <id>', 'the id again, instead of a question')
    .option(...json)
    .action((id, options) =>
      withDatabase(async (database) => {
        await confirm(database, id, options.yes, ask);
        return deleteOrganization(database, id);
      }, options),
    );
  organization
    .command('restore <id>')
    .description('undo the deletion of an organization')
    .option(...json)
    .action((id, options) => withDatabase((database) => restoreOrganization(database, id), options));
}
