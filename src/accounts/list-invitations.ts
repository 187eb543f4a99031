import type { Database } from '../platform/database/database.ts';
import type { Page } from '../platform/database/page.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { Role } from '../tenancy/core/roles.ts';
import { invitationIds } from './core/ids.ts';
import type { Acting } from './invitations.ts';

export interface Invitation {
  id: string;
  email: string;
  role: Role;
  status: 'pending' | 'accepted' | 'expired' | 'revoked';
  expiresAt: Date;
  createdAt: Date;
}

const findPage = systemStatement({
  name: 'invitation.list',
  parameters: { organizationId: 'uuid', limit: 'int', offset: 'int' },
  row: {
    id: 'uuid',
    email: 'text',
    role: typed<Role>('text'),
    status: typed<Invitation['status']>('text'),
    expiresAt: 'timestamptz',
    createdAt: 'timestamptz',
    total: 'int',
  },
  text: `select id, email, role, "expiresAt", "createdAt", (count(*) over ())::int as total,
      case when status = 'accepted' then 'accepted' when status <> 'pending' then 'revoked'
        when "expiresAt" <= atelier_now() then 'expired' else 'pending' end as status
     from auth."invitation" where "organizationId" = :organizationId order by id desc limit :limit offset :offset`,
});
const countAll = systemStatement({
  name: 'invitation.count',
  parameters: { organizationId: 'uuid' },
  row: { total: 'int' },
  text: `select count(*)::int as total from auth."invitation" where "organizationId" = :organizationId`,
});
const revoke = systemStatement({
  name: 'invitation.revoke',
  parameters: { organizationId: 'uuid', id: 'uuid' },
  row: { wasPending: 'boolean' },
  text: `with found as (
     select id, status from auth."invitation" where "organizationId" = :organizationId and id = :id for update),
   revoked as (
     update auth."invitation" i set "status" = 'canceled' from found where i.id = found.id and found.status = 'pending')
   select status = 'pending' as "wasPending" from found`,
});

/** The invitations of an organization, newest first. */
export async function listInvitations(
  database: Database,
  organizationId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<Invitation>> {
  const sql = sqlOn(database.pool);
  const rows = await sql.rows(findPage, { organizationId, limit, offset });
  // A page behind the end has no row that says how many there are.
  const { total } = rows[0] ?? (await sql.one(countAll, { organizationId }))!;
  return { items: rows, total, limit, offset };
}

/** Ends an invitation. An ended one stays unchanged. @throws AppError not_found; conflict once it was accepted */
export async function revokeInvitation(
  database: Database,
  { organizationId, id }: { organizationId: string; id: string },
  { userId: _, ...by }: Acting,
): Promise<void> {
  await systemTransaction(database, async (tx) => {
    const found = await tx.one(revoke, { organizationId, id });
    if (!found) throw new AppError('not_found', `No invitation has the id ${invitationIds.format(id)}.`);
    if (!found.wasPending) return;
    await tx.audit({
      organizationId,
      subjectId: id,
      action: 'invitation.revoke',
      ...by,
    });
  });
}
