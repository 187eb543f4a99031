import type { Command } from 'commander';
import { listOutbox, type OutboxEntryView } from '../platform/outbox/outbox-entries.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { readLimit } from './limit.ts';
import type { CommandContext } from './with-database.ts';

const view = ({ organizationId, ...entry }: OutboxEntryView) => ({
  ...entry,
  organizationId: organizationIds.format(organizationId),
});

/** `outbox list`. */
export function addOutboxCommands(outbox: Command, { withDatabase }: CommandContext): void {
  outbox
    .command('list')
    .description('the entries, oldest first, with their attempts, their last error and when they are tried next')
    .option('--kind <kind>', 'of one kind')
    .option('--failing', 'only entries whose last attempt failed')
    .option('--limit <entries>', 'how many', readLimit, 100)
    .option('--json', 'print one JSON document')
    .action(({ kind, failing, limit, json }) =>
      withDatabase(
        async (database) => ({ entries: (await listOutbox(database, { kind, failing, limit })).map(view) }),
        { json },
      ),
    );
}
