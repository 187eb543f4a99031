import type { Command } from 'commander';
import { invitationIds } from '../accounts/core/ids.ts';
import { invitationPath, linkPath } from '../accounts/core/paths.ts';
import { accountTimes } from '../accounts/core/times.ts';
import { invite } from '../accounts/invitations.ts';
import { createLink, isKnownEmail } from '../accounts/links.ts';
import { findMemberByEmail, listUsers, removeMember } from '../accounts/members.ts';
import { readEmail, readRole } from '../accounts/people.ts';
import { resetSecondFactor } from '../accounts/second-factor.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import { sqlOn } from '../platform/database/sql.ts';
import { readPublicUrl, type Variables } from '../platform/env.ts';
import { AppError } from '../platform/errors.ts';
import { operator } from '../platform/security/audit.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { findOrganization } from '../tenancy/organizations.ts';
import type { CommandContext } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

const acting = { actor: operator };

/** The factor by which the installation's processes shorten times. */
const timesOf = ({ ACCOUNTS_TIME_SCALE: scale }: Variables) => accountTimes(scale ? Number(scale) : 1);

const urlOf = (settings: Variables, path: string, token: string) =>
  `${withoutSlash(readPublicUrl(settings))}${path}/${token}`;

/** `user invite`, `list`, `remove`, `reset-second-factor` and `link`. */
export function addUserCommands(user: Command, { withDatabase }: CommandContext): void {
  user
    .command('invite')
    .description('invite a person to an organization, and print the link for them')
    .requiredOption('--org <id>')
    .requiredOption('--email <address>')
    .requiredOption('--role <role>', 'owner, admin, member or viewer')
    .option(...json)
    .action((options) =>
      withDatabase(async (database, settings) => {
        const role = readRole(options.role);
        const { id: organizationId } = await findOrganization(database, options.org);
        const times = timesOf(settings);
        const invited = await invite(database, { organizationId, email: options.email, role }, acting, { times });
        return {
          id: invitationIds.format(invited.id),
          email: invited.email,
          role,
          organizationId: organizationIds.format(organizationId),
          link: urlOf(settings, invitationPath, invited.token),
          expiresAt: invited.expiresAt.toISOString(),
        };
      }, options),
    );
  user
    .command('list')
    .description('list people with an account, oldest first')
    .option('--org <id>', 'members of this organization alone')
    .option(...json)
    .action((options) =>
      withDatabase(async (database) => {
        const organization = options.org === undefined ? undefined : await findOrganization(database, options.org);
        return { users: await listUsers(database, organization?.id) };
      }, options),
    );
  user
    .command('remove')
    .description('remove a person from an organization; their sessions end')
    .requiredOption('--org <id>')
    .requiredOption('--email <address>')
    .option(...json)
    .action((options) =>
      withDatabase(async (database) => {
        const email = readEmail(options.email);
        const { id: organizationId } = await findOrganization(database, options.org);
        const memberId = await findMemberByEmail(database, organizationId, email);
        await removeMember(database, { organizationId, memberId, by: 'owner' }, acting);
        return { email, organizationId: organizationIds.format(organizationId), removed: true };
      }, options),
    );
  user
    .command('reset-second-factor')
    .description('turn off the second factor of a person who has lost it; their sessions end')
    .requiredOption('--email <address>')
    .option(...json)
    .action((options) =>
      withDatabase(async (database, settings) => {
        const email = readEmail(options.email);
        if (!(await resetSecondFactor(database, email, timesOf(settings)))) {
          throw new AppError('not_found', 'No account has this address.');
        }
        return { email, reset: true };
      }, options),
    );
  user
    .command('link')
    .description('print a link that signs a person in, once')
    .requiredOption('--email <address>')
    .option(...json)
    .action((options) =>
      withDatabase(async (database, settings) => {
        const email = readEmail(options.email);
        if (!(await isKnownEmail(database, email))) {
          throw new AppError('not_found', 'No account and no invitation has this address.');
        }
        const { token, expiresAt } = await createLink(sqlOn(database.pool), email, timesOf(settings));
        return { email, link: urlOf(settings, linkPath, token), expiresAt: expiresAt.toISOString() };
      }, options),
    );
}
