import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { systemTransaction, type UnitOfWork } from '../platform/database/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import type { Role } from '../tenancy/core/roles.ts';
import { memberIds, userIds } from './core/ids.ts';
import { isAtLeast } from './core/roles.ts';
import type { Acting } from './invitations.ts';

const memberColumns = {
  id: 'uuid',
  userId: 'uuid',
  email: 'text',
  name: 'text',
  role: typed<Role>('text'),
  createdAt: 'timestamptz',
  lastSeenAt: 'timestamptz?',
} as const;

const selected = `m.id, u.id as "userId", u.email, u.name, m.role, m."createdAt", u."lastSeenAt"
   from auth."member" m join auth."user" u on u.id = m."userId"`;

const findPage = systemStatement({
  name: 'member.list',
  parameters: { organizationId: 'uuid', limit: 'int', offset: 'int' },
  row: { ...memberColumns, total: 'int' },
  text: `select (count(*) over ())::int as total, ${selected}
    where m."organizationId" = :organizationId order by m.id limit :limit offset :offset`,
});
const countAll = systemStatement({
  name: 'member.count',
  parameters: { organizationId: 'uuid' },
  row: { total: 'int' },
  text: `select count(*)::int as total from auth."member" where "organizationId" = :organizationId`,
});
const lock = systemStatement({
  name: 'member.lock',
  parameters: { organizationId: 'uuid', id: 'uuid' },
  row: memberColumns,
  text: `select ${selected} where m."organizationId" = :organizationId and m.id = :id for update of m`,
});
const lockOwners = systemStatement({
  name: 'member.lock_owners',
  parameters: { organizationId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from auth."member" where "organizationId" = :organizationId and "role" = 'owner' order by id for update`,
});
const findByEmail = systemStatement({
  name: 'member.by_email',
  parameters: { organizationId: 'uuid', email: 'text' },
  row: { id: 'uuid' },
  text: `select m.id from auth."member" m join auth."user" u on u.id = m."userId"
    where m."organizationId" = :organizationId and u.email = :email`,
});
const setRole = systemStatement({
  name: 'member.set_role',
  parameters: { id: 'uuid', role: 'text' },
  text: `update auth."member" set "role" = :role where id = :id`,
});
const remove = systemStatement({
  name: 'member.remove',
  parameters: { id: 'uuid', userId: 'uuid' },
  text: `with sessions as (delete from auth."session" where "userId" = :userId)
   delete from auth."member" where id = :id`,
});
const findUsers = systemStatement({
  name: 'member.users',
  parameters: { organizationId: 'uuid?' },
  row: {
    id: 'uuid',
    email: 'text',
    name: 'text',
    organizations: typed<{ id: string; role: Role }[]>('jsonb'),
  },
  text: `select u.id, u.email, u.name,
      coalesce((select jsonb_agg(jsonb_build_object('id', m."organizationId", 'role', m.role) order by m.id)
        from auth."member" m where m."userId" = u.id), '[]') as organizations
     from auth."user" u
    where :organizationId is null
       or exists (select from auth."member" o where o."userId" = u.id and o."organizationId" = :organizationId)
    order by u.id`,
});

export interface MemberView {
  /** `mem_…` */
  id: string;
  email: string;
  name: string;
  role: Role;
  createdAt: string;
  lastSeenAt: string | null;
}

interface MemberRow {
  id: string;
  userId: string;
  email: string;
  name: string;
  role: Role;
  createdAt: Date;
  lastSeenAt: Date | null;
}

const view = ({ id, email, name, role, createdAt, lastSeenAt }: MemberRow): MemberView => ({
  id: memberIds.format(id),
  email,
  name,
  role,
  createdAt: createdAt.toISOString(),
  lastSeenAt: lastSeenAt?.toISOString() ?? null,
});

/** The members of an organization, in the order in which they joined. */
export async function listMembers(database: Database, organizationId: string, page: { limit: number; offset: number }) {
  const sql = sqlOn(database.pool);
  const rows = await sql.rows(findPage, { organizationId, ...page });
  // A page behind the end has no row that says how many there are.
  const { total } = rows[0] ?? (await sql.one(countAll, { organizationId }))!;
  return { members: rows.map(view), total };
}

export const noMember = (id: string): AppError => new AppError('not_found', `No member has the id ${id}.`);

const needs = (required: Role): AppError => new AppError('forbidden', `This needs the role ${required}.`, { required });

/** Owners are changed by owners alone, and one of them stays. @throws AppError forbidden, conflict */
async function checkOwners(tx: UnitOfWork, organizationId: string, member: MemberRow, by: Role, to?: Role) {
  if ((member.role === 'owner' || to === 'owner') && !isAtLeast(by, 'owner')) throw needs('owner');
  if (member.role !== 'owner' || to === 'owner') return;
  if ((await tx.rows(lockOwners, { organizationId })).length > 1) return;
  throw new AppError('conflict', 'The organization keeps at least one owner.');
}

interface OfMember {
  /** Canonical uuids. */
  organizationId: string;
  memberId: string;
  /** The role of who does it; that of operators is `owner`. */
  by: Role;
}

/** Two changes of an organization's members run one after the other, so that one owner stays. */
async function lockMember(tx: UnitOfWork, { organizationId, memberId }: OfMember): Promise<MemberRow> {
  await tx.rows(lockOwners, { organizationId });
  const member = await tx.one(lock, { organizationId, id: memberId });
  if (!member) throw noMember(memberIds.format(memberId));
  return member;
}

/** @throws AppError not_found, forbidden, conflict (the last owner) */
export async function changeRole(
  database: Database,
  of: OfMember,
  role: Role,
  { userId: _, ...by }: Acting,
): Promise<MemberView> {
  return systemTransaction(database, async (tx) => {
    const member = await lockMember(tx, of);
    await checkOwners(tx, of.organizationId, member, of.by, role);
    if (member.role !== role) {
      await tx.rows(setRole, { id: member.id, role });
      await tx.audit({
        organizationId: of.organizationId,
        subjectId: member.id,
        action: 'member.update',
        facts: { role, before: member.role },
        ...by,
      });
    }
    return view({ ...member, role });
  });
}

/** Removes a member. All sessions of the person end. @throws AppError not_found, forbidden, conflict (the last owner) */
export async function removeMember(database: Database, of: OfMember, { userId: _, ...by }: Acting): Promise<void> {
  await systemTransaction(database, async (tx) => {
    const member = await lockMember(tx, of);
    await checkOwners(tx, of.organizationId, member, of.by);
    await tx.rows(remove, { id: member.id, userId: member.userId });
    await tx.audit({
      organizationId: of.organizationId,
      subjectId: member.id,
      action: 'member.delete',
      facts: { role: member.role, user: userIds.format(member.userId) },
      ...by,
    });
  });
}

/** The id of an organization's member with this address, a canonical uuid. @throws AppError not_found */
export async function findMemberByEmail(database: Database, organizationId: string, email: string): Promise<string> {
  const found = await sqlOn(database.pool).one(findByEmail, { organizationId, email });
  if (!found) throw new AppError('not_found', 'The organization has no member with this address.');
  return found.id;
}

/** People with an account, oldest first: all, or the members of an organization. */
export async function listUsers(database: Database, organizationId?: string) {
  const rows = await sqlOn(database.pool).rows(findUsers, { organizationId: organizationId ?? null });
  return rows.map(({ id, email, name, organizations }) => ({
    id: userIds.format(id),
    email,
    name,
    organizations: organizations.map((one) => ({ id: organizationIds.format(one.id), role: one.role })),
  }));
}
