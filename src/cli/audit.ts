import type { Command } from 'commander';
import type { Database } from '../platform/database/database.ts';
import type { AuditEntry } from '../platform/database/entities.ts';
import { declared } from '../platform/parts/declared-parts.ts';
import { latestAudit, verifyAudit } from '../platform/security/audit.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { findOrganization, listOrganizationIds } from '../tenancy/organizations.ts';
import { CommandFailure } from './command-failure.ts';
import { readLimit } from './limit.ts';
import type { CommandContext } from './with-database.ts';

/** With nulls for what an entry of an operator or of a workflow does not have. */
const view = ({ number, recordedAt, action, subjectId, actor, facts, ...entry }: AuditEntry) => ({
  number,
  recordedAt: recordedAt.toISOString(),
  actor,
  action,
  subject: declared.auditActions.get(action)?.format(subjectId) ?? subjectId,
  environment: entry.environment ?? null,
  correlationId: entry.correlationId ?? null,
  requestId: entry.requestId ?? null,
  ip: entry.ip ?? null,
  facts,
});

/** Reads all logs, then @throws CommandFailure naming the first altered entry of each that was altered */
async function verify(database: Database, organizations: string[]): Promise<object> {
  const sound = [];
  const broken = [];
  for (const uuid of organizations) {
    const { broken: number, ...report } = await verifyAudit(database, uuid);
    const id = organizationIds.format(uuid);
    if (number === undefined) sound.push({ organizationId: id, ...report });
    else broken.push(`The audit log of ${id} is broken from entry ${number} on.`);
  }
  if (broken.length > 0) throw new CommandFailure('audit_broken', broken.join(' '));
  return { verified: sound };
}

/** `audit list` and `audit verify`. */
export function addAuditCommands(audit: Command, { withDatabase }: CommandContext): void {
  audit
    .command('list')
    .description('list the latest entries, newest first')
    .requiredOption('--org <id>')
    .option('--limit <entries>', 'maximum number of entries', readLimit, 100)
    .option('--json', 'print one JSON document')
    .action(({ org, limit, json }) =>
      withDatabase(
        async (database) => {
          const { id } = await findOrganization(database, org);
          return { entries: (await latestAudit(database, id, limit)).map(view) };
        },
        { json },
      ),
    );
  audit
    .command('verify')
    .description('read the whole log and fail at the first altered entry')
    .option('--org <id>', 'one organization (default: all)')
    .option('--json', 'print one JSON document')
    .action(({ org, json }) =>
      withDatabase(
        async (database) =>
          verify(database, org ? [(await findOrganization(database, org)).id] : await listOrganizationIds(database)),
        { json },
      ),
    );
}
