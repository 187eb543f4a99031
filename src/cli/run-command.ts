import { Command, CommanderError } from 'commander';
import { setMonthlyGrant } from '../credits/grants.ts';
import type { Database } from '../platform/database.ts';
import { EnvError } from '../platform/env.ts';
import { AppError } from '../platform/errors.ts';
import { createKey, listKeys, revokeKey } from '../tenancy/keys.ts';
import {
  createOrganization,
  listOrganizations,
  type OrganizationView,
  updateOrganization,
} from '../tenancy/organizations.ts';
import { addAuditCommands, BrokenAudit } from './audit.ts';
import { addCreditCommands } from './credits.ts';
import { addDeliveryCommands } from './deliveries.ts';
import { addDeprecationCommands } from './deprecations.ts';
import { addFindCommands } from './find.ts';
import { migrateServers } from './migrate.ts';
import { addDeletionCommands } from './organization-deletion.ts';
import { addOutboxCommands } from './outbox.ts';
import { addRedirectCommands } from './redirects.ts';
import { addRunCommands } from './runs.ts';
import { addSecretCommands, UnreadableSecrets } from './secrets.ts';
import { addToolCommands } from './tools.ts';
import { type Terminal, withDatabaseOf } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** A number; NaN for other text, which the operation rejects with its own message. */
const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : Number.NaN);
const list = (text: string) => text.split(',').map((item) => item.trim());
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

function describe(error: unknown): { code: string; message: string; details?: object } {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  if (error instanceof UnreadableSecrets)
    return { code: 'secrets_unreadable', message: error.message, details: error.details };
  if (error instanceof BrokenAudit) return { code: 'audit_broken', message: error.message };
  if (error instanceof EnvError) return { code: 'environment', message: error.message };
  if (error instanceof CommanderError) {
    // Commander throws this instead of an error when it would only print its help.
    const noCommand = error.code === 'commander.help';
    const message = noCommand ? 'A command is missing. --help lists them.' : error.message.replace(/^error: /, '');
    return { code: 'validation_error', message };
  }
  return { code: 'internal_error', message: `Unexpected: ${error instanceof Error ? error.message : error}` };
}

function commands({ variables, print, ask }: Terminal): Command {
  const withDatabase = withDatabaseOf({ variables, print });
  // Standard error contains exactly one JSON document, so Commander's own messages are suppressed.
  const program = new Command('atelier')
    .description('Commands for operators.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: () => {} });

  const organization = program.command('org').description('organizations');
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

  addDeletionCommands(organization, withDatabase, ask);
  addRedirectCommands(organization, withDatabase);

  const key = program.command('key').description('API keys');
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

  addAuditCommands(program, withDatabase);
  addCreditCommands(program, withDatabase);
  addDeliveryCommands(program, withDatabase);
  addDeprecationCommands(program, withDatabase);
  addOutboxCommands(program, withDatabase);
  addRunCommands(program, withDatabase);
  addFindCommands(program, withDatabase);
  addSecretCommands(program, withDatabase);
  addToolCommands(program, withDatabase);

  program
    .command('migrate')
    .description('migrate the database schema, and register search attributes in Temporal')
    .option(...json)
    .action((options) => withDatabase(migrateServers, options));
  return program;
}

/** Executes one command. A failure is printed as one JSON document with `printError`. @returns the exit code */
export async function runCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    await commands(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    terminal.printError(JSON.stringify({ error: describe(error) }));
    return 1;
  }
}
