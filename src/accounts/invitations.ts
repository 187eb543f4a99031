import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { type ClaimOptions, type Once, once, requireRecent } from '../platform/database/idempotency.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { systemTransaction, type UnitOfWork } from '../platform/database/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { AuditAuthor, RequestOrigin } from '../platform/security/audit.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { Role } from '../tenancy/core/roles.ts';
import { invitationIds, userIds } from './core/ids.ts';
import type { AccountTimes } from './core/times.ts';
import { failPoint } from './fail-points.ts';
import { noOrganization, provenUser, readEmail } from './people.ts';
import { hashOfToken, randomToken, tokenOfInvitation, tokenPattern } from './tokens.ts';

/** Who does something to the members of an organization, as the audit log names it. */
export interface Acting extends AuditAuthor {
  /** Absent for operators, who are no user. */
  userId?: string;
}

// Two invitations of an address at the same time run one after the other, so that the later one ends the earlier one.
const isOrganizationOpen = systemStatement({
  name: 'invitation.lock_organization',
  parameters: { organizationId: 'uuid' },
  row: { id: 'uuid' },
  text: 'select id from organization where id = :organizationId and deleted_at is null for no key update',
});

const findMember = systemStatement({
  name: 'invitation.find_member',
  parameters: { organizationId: 'uuid', email: 'text' },
  row: { id: 'uuid' },
  text: `select m.id from auth."member" m join auth."user" u on u.id = m."userId"
    where m."organizationId" = :organizationId and u.email = :email`,
});

const revokeEarlier = systemStatement({
  name: 'invitation.revoke_earlier',
  parameters: { organizationId: 'uuid', email: 'text' },
  text: `update auth."invitation" set "status" = 'canceled'
    where "organizationId" = :organizationId and "email" = :email and "status" = 'pending'`,
});

const insert = systemStatement({
  name: 'invitation.create',
  parameters: {
    id: 'uuid',
    organizationId: 'uuid',
    email: 'text',
    role: 'text',
    expiresAt: 'timestamptz',
    createdAt: 'timestamptz',
    inviterId: 'uuid?',
    tokenHash: 'bytea',
    mailedAt: 'timestamptz?',
  },
  text: `insert into auth."invitation" ("id", "organizationId", "email", "role", "status", "expiresAt", "createdAt",
      "inviterId", "tokenHash", "mailedAt")
    values (:id, :organizationId, :email, :role, 'pending', :expiresAt, :createdAt, :inviterId, :tokenHash, :mailedAt)`,
});

const columns = {
  id: 'uuid',
  organizationId: 'uuid',
  organizationName: 'text',
  email: 'text',
  role: typed<Role>('text'),
} as const;

const selected = `i.id, i."organizationId", o.name as "organizationName", i.email, i.role
   from auth."invitation" i join organization o on o.id = i."organizationId" and o.deleted_at is null`;

const isPending = `i."status" = 'pending' and i."expiresAt" > atelier_now()`;

const findByToken = systemStatement({
  name: 'invitation.by_token',
  parameters: { tokenHash: 'bytea' },
  row: columns,
  text: `select ${selected} where i."tokenHash" = :tokenHash and ${isPending}`,
});
const lockByToken = systemStatement({
  name: 'invitation.lock_by_token',
  parameters: { tokenHash: 'bytea' },
  row: columns,
  text: `select ${selected} where i."tokenHash" = :tokenHash and ${isPending} for update of i`,
});
// In the order of the organizations: each one's audit log is then written in it, so that two people who accept several
// invitations at the same time never wait for each other.
const lockByEmail = systemStatement({
  name: 'invitation.lock_by_email',
  parameters: { email: 'text' },
  row: columns,
  text: `select ${selected} where i.email = :email and ${isPending} order by i."organizationId", i.id for update of i`,
});

const setAccepted = systemStatement({
  name: 'invitation.accept',
  parameters: { id: 'uuid' },
  text: `update auth."invitation" set "status" = 'accepted' where id = :id`,
});

const insertMember = systemStatement({
  name: 'invitation.create_member',
  parameters: { id: 'uuid', organizationId: 'uuid', userId: 'uuid', role: 'text' },
  row: { id: 'uuid' },
  text: `insert into auth."member" ("id", "organizationId", "userId", "role", "createdAt")
    values (:id, :organizationId, :userId, :role, atelier_now())
    on conflict ("organizationId", "userId") do nothing returning id`,
});

export interface NewInvitation {
  /** Canonical uuid. */
  organizationId: string;
  email: string;
  role: Role;
}

interface IssuedInvitation {
  id: string;
  email: string;
  role: Role;
  token: string;
  createdAt: Date;
  expiresAt: Date;
}

interface InviteOptions {
  times: AccountTimes;
  /** Where the invitation is mailed: its token is made of it. Without it the caller hands over the link. */
  secret?: string | undefined;
}

async function create(
  tx: UnitOfWork,
  { organizationId, role, ...given }: NewInvitation,
  { userId, ...by }: Acting,
  { times, secret }: InviteOptions,
): Promise<IssuedInvitation> {
  const email = readEmail(given.email);
  const id = newId();
  const token = secret === undefined ? randomToken() : tokenOfInvitation(secret, id);
  const createdAt = clock.date();
  const expiresAt = new Date(createdAt.getTime() + times.invitationMs);
  if (!(await tx.one(isOrganizationOpen, { organizationId }))) throw noOrganization(organizationId);
  if (await tx.one(findMember, { organizationId, email })) {
    throw new AppError('conflict', 'The person is a member of the organization already.');
  }
  await tx.rows(revokeEarlier, { organizationId, email });
  await tx.rows(insert, {
    id,
    organizationId,
    email,
    role,
    expiresAt,
    createdAt,
    inviterId: userId ?? null,
    tokenHash: hashOfToken(token),
    mailedAt: secret === undefined ? createdAt : null,
  });
  await tx.audit({
    organizationId,
    subjectId: id,
    action: 'invitation.create',
    // Never an address of e-mail: the log is not erased.
    facts: { role },
    ...by,
  });
  return { id, email, role, token, createdAt, expiresAt };
}

/**
 * Invites an address to an organization. An earlier invitation of it ends.
 * @throws AppError validation_error, not_found (no such organization), conflict (the person is a member)
 */
export const invite = (
  database: Database,
  invitation: NewInvitation,
  by: Acting,
  options: InviteOptions,
): Promise<IssuedInvitation> => systemTransaction(database, (tx) => create(tx, invitation, by, options));

/**
 * The same, once for each Idempotency-Key.
 * @param options.tenant of the request
 * @throws AppError as `invite`, idempotency_key_reused
 */
export async function inviteOnce(
  database: Database,
  invitation: NewInvitation,
  by: Acting,
  options: InviteOptions & ClaimOptions<IssuedInvitation> & { tenant: Tenant },
): Promise<Once<IssuedInvitation>> {
  const invited = await systemTransaction(database, (tx) =>
    once(tx.of(options.tenant), options, () => create(tx, invitation, by, options)),
  );
  requireRecent(invited);
  return invited;
}

interface PendingInvitation {
  id: string;
  organizationId: string;
  organizationName: string;
  email: string;
  role: Role;
}

/** The invitation of a token, as long as it can be accepted. */
export async function findInvitation(database: Database, token: string): Promise<PendingInvitation | undefined> {
  if (!tokenPattern.test(token)) return undefined;
  return sqlOn(database.pool).one(findByToken, { tokenHash: hashOfToken(token) });
}

async function join(
  tx: UnitOfWork,
  invitation: PendingInvitation,
  userId: string,
  origin: RequestOrigin | undefined,
): Promise<void> {
  const { id, organizationId, role } = invitation;
  await tx.rows(setAccepted, { id });
  failPoint('invitation.accepted');
  const member = await tx.one(insertMember, { id: newId(), organizationId, userId, role });
  if (!member) return;
  await tx.audit({
    organizationId,
    subjectId: member.id,
    actor: userIds.format(userId),
    action: 'member.create',
    facts: { role, invitation: invitationIds.format(id) },
    ...(origin && { origin }),
  });
}

/**
 * Accepts an invitation, once: its person is a member then.
 * @returns the user's id; undefined where the token is not one of an open invitation
 */
export async function acceptInvitation(
  database: Database,
  token: string,
  origin?: RequestOrigin,
): Promise<string | undefined> {
  if (!tokenPattern.test(token)) return undefined;
  return systemTransaction(database, async (tx) => {
    const invitation = await tx.one(lockByToken, { tokenHash: hashOfToken(token) });
    if (!invitation) return undefined;
    const userId = await provenUser(tx, invitation.email);
    await join(tx, invitation, userId, origin);
    failPoint('invitation.before-commit');
    return userId;
  });
}

/**
 * The open invitations of an address that has just been proved. To be called before the person is locked: every
 * transaction that accepts invitations locks them first.
 */
export const lockInvitations = (tx: UnitOfWork, email: string): Promise<PendingInvitation[]> =>
  tx.rows(lockByEmail, { email });

/** Accepts locked invitations for their person. */
export async function acceptAll(
  tx: UnitOfWork,
  invitations: readonly PendingInvitation[],
  userId: string,
  origin: RequestOrigin | undefined,
): Promise<void> {
  for (const invitation of invitations) await join(tx, invitation, userId, origin);
}

/** Makes a person a member without an invitation: the owner of a new installation, or of an organization of their own. */
export async function addMember(
  tx: UnitOfWork,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: Role },
  by: AuditAuthor,
): Promise<void> {
  const member = await tx.one(insertMember, { id: newId(), organizationId, userId, role });
  if (!member) return;
  await tx.audit({ organizationId, subjectId: member.id, action: 'member.create', facts: { role }, ...by });
}
