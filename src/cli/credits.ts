import type { Command } from 'commander';
import { creditBalance } from '../credits/balance.ts';
import { grantCredits, operatorScope } from '../credits/grants.ts';
import { latestLedgerEntries } from '../credits/ledger-entries.ts';
import type { Scope } from '../platform/database/scope.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { readLimit } from './limit.ts';
import type { CommandContext } from './with-database.ts';

const view = async (scope: Scope) => ({
  organizationId: organizationIds.format(scope.tenant.organizationId),
  environment: scope.tenant.environment,
  ...(await creditBalance(scope)),
});

/** `credits grant`, `credits entries` and `credits show`. */
export function addCreditCommands(credits: Command, { withDatabase }: CommandContext): void {
  credits
    .command('grant')
    .description('grant credits that do not expire')
    .requiredOption('--org <id>')
    .requiredOption('--amount <credits>', 'a whole number', (text) => (/^\d+$/.test(text) ? Number(text) : Number.NaN))
    .option('--env <environment>', 'test or live', 'live')
    .option('--reason <text>')
    .option('--json', 'print one JSON document')
    .action(({ org, env, amount, reason, json }) =>
      withDatabase(
        async (database) =>
          view(await grantCredits(database, { organizationId: org, environment: env, amount, reason })),
        { json },
      ),
    );
  credits
    .command('entries')
    .description('the latest entries of the ledger, newest first')
    .requiredOption('--org <id>')
    .option('--env <environment>', 'test or live', 'live')
    .option('--limit <entries>', 'maximum number of entries', readLimit, 100)
    .option('--json', 'print one JSON document')
    .action(({ org, env, limit, json }) =>
      withDatabase(
        async (database) => ({ entries: await latestLedgerEntries(await operatorScope(database, org, env), limit) }),
        { json },
      ),
    );
  credits
    .command('show')
    .requiredOption('--org <id>')
    .option('--env <environment>', 'test or live', 'live')
    .option('--json', 'print one JSON document')
    .action(({ org, env, json }) =>
      withDatabase(async (database) => view(await operatorScope(database, org, env)), { json }),
    );
}
