import type { Command } from 'commander';
import { setMonthlyGrant } from '../credits/grants.ts';
import type { Database } from '../platform/database/database.ts';
import {
  createOrganization,
  listOrganizations,
  type OrganizationView,
  updateOrganization,
} from '../tenancy/organizations.ts';
import { addDeletionCommands } from './organization-deletion.ts';
import { addRedirectCommands } from './redirects.ts';
import type { CommandContext } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** A number; NaN for other text, which the operation rejects with its own message. */
const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : Number.NaN);
const rateMinute = ['--rate-minute <requests>', "overrides the plan's limit", number] as const;
const monthlyCredits = ['--monthly-credits <credits>', "overrides the plan's grant", number] as const;
const callingRuns = ['--calling-runs <runs>', "overrides the plan's limit", number] as const;
const rateDay = ['--rate-day <requests>', "overrides the plan's limit", number] as const;

async function withGrant(
  database: Database,
  organization: OrganizationView,
  options: { monthlyCredits?: number },
): Promise<OrganizationView> {
  if (options.monthlyCredits !== undefined) await setMonthlyGrant(database, organization.id, options.monthlyCredits);
  return organization;
}

/** `org create`, `update`, `list`, `delete`, `restore` and `redirects`. */
export function addOrganizationCommands(organization: Command, context: CommandContext): void {
  const { withDatabase } = context;
  organization
    .command('create')
    .requiredOption('--name <name>')
    .requiredOption('--plan <plan>', 'free, pro, team or enterprise')
    .option('--email <address>', 'address for notices')
    .option(...rateMinute)
    .option(...rateDay)
    .option(...callingRuns)
    .option(...monthlyCredits)
    .option(...json)
    .action((options) =>
      withDatabase(
        async (database) => withGrant(database, await createOrganization(database, options), options),
        options,
      ),
    );
  organization
    .command('update <id>')
    .option('--name <name>')
    .option('--plan <plan>')
    .option('--email <address>')
    .option(...rateMinute)
    .option(...rateDay)
    .option(...callingRuns)
    .option(...monthlyCredits)
    .option(...json)
    .action((id, options) =>
      withDatabase(
        async (database) => withGrant(database, await updateOrganization(database, id, options), options),
        options,
      ),
    );

  organization
    .command('list')
    .description('list all organizations, oldest first')
    .option(...json)
    .action((options) =>
      withDatabase(async (database) => ({ organizations: await listOrganizations(database) }), options),
    );

  addDeletionCommands(organization, context);
  addRedirectCommands(organization, context);
}
