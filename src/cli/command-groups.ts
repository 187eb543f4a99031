import type { Command } from 'commander';
import type { CommandContext } from './with-database.ts';

/** Commands whose module is loaded on the first call: a module loads only the modules that its commands need. */
interface CommandGroup {
  /** With its arguments, where it is a command itself. */
  name: string;
  description: string;
  /** @returns what adds the commands of the group to it */
  load(): Promise<(group: Command, context: CommandContext) => void>;
}

/** In the order in which the help lists them. */
export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'org',
    description: 'organizations',
    load: async () => (await import('./organizations.ts')).addOrganizationCommands,
  },
  { name: 'key', description: 'API keys', load: async () => (await import('./keys.ts')).addKeyCommands },
  {
    name: 'user',
    description: 'people with an account, and members of organizations',
    load: async () => (await import('./users.ts')).addUserCommands,
  },
  {
    name: 'audit',
    description: 'audit logs of organizations',
    load: async () => (await import('./audit.ts')).addAuditCommands,
  },
  {
    name: 'credits',
    description: 'credits of organizations',
    load: async () => (await import('./credits.ts')).addCreditCommands,
  },
  {
    name: 'delivery',
    description: 'webhook deliveries of all organizations',
    load: async () => (await import('./deliveries.ts')).addDeliveryCommands,
  },
  {
    name: 'deprecation',
    description: 'deprecated routes',
    load: async () => (await import('./deprecations.ts')).addDeprecationCommands,
  },
  {
    name: 'outbox',
    description: 'outbox entries of committed work that is not done yet',
    load: async () => (await import('./outbox.ts')).addOutboxCommands,
  },
  {
    name: 'find <id>',
    description: 'find work of all organizations by an id, a correlation id, or the id of a workflow in Temporal',
    load: async () => (await import('./find.ts')).addFindCommand,
  },
  {
    name: 'secrets',
    description: 'secrets stored in the database',
    load: async () => (await import('./secrets.ts')).addSecretCommands,
  },
  {
    name: 'tools',
    description: 'tool servers of an organization',
    load: async () => (await import('./tools.ts')).addToolCommands,
  },
  {
    name: 'migrate',
    description: 'migrate the database schema, and register search attributes in Temporal',
    load: async () => (await import('./migrate.ts')).addMigrateCommand,
  },
];
