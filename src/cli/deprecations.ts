import type { Command } from 'commander';
import { announceDeprecations } from '../operations/deprecations.ts';
import { readMailSettings } from '../platform/env.ts';
import { openMailer } from '../platform/mail.ts';
import type { CommandContext } from './with-database.ts';

/** `deprecation announce`. It fails if a mail could not be sent; the other mails are sent, and none is sent twice. */
export function addDeprecationCommands(deprecation: Command, { withDatabase }: CommandContext): void {
  deprecation
    .command('announce')
    .description('mail each organization whose keys used a deprecated route, once per route')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) =>
      withDatabase(async (database, settings) => {
        const mailer = openMailer(readMailSettings(settings));
        try {
          const { sent, failed, withoutAddress } = await announceDeprecations(database, mailer);
          if (failed.length > 0) {
            throw new AggregateError(
              failed,
              `${sent} mails were sent, ${failed.length} failed: ${reason(failed[0]!.error)}`,
            );
          }
          return { sent, withoutAddress };
        } finally {
          mailer.close();
        }
      }, options),
    );
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));
