import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Mailer } from '../platform/mail.ts';
import type { Environment } from '../platform/tenant.ts';
import { keyIds } from '../tenancy/core/ids.ts';
import { isKept } from '../tenancy/index.ts';
import { publishEvent } from '../webhooks/index.ts';
import { keyExpiring } from './core/events.ts';
import { type Notice, type NoticeReport, sendNotices } from './notices.ts';

const noticeDays = 7;
const batch = 100;

interface ExpiringKey {
  id: string;
  name: string;
  prefix: string;
  lastFour: string;
  expiresAt: Date;
  organizationId: string;
  organization: string;
  /** Addresses that were not notified yet, each with what its notice is about. */
  recipients: { email: string; about: string }[];
}

/** Owners of one organization that are notified; its contact comes on top. */
const maxOwners = 20;

const findExpiring = systemStatement({
  name: 'key_expiry.find',
  parameters: { now: 'timestamptz', noticeDays: 'int', after: 'uuid', limit: 'int', maxOwners: 'int' },
  row: {
    id: 'uuid',
    name: 'text',
    prefix: 'text',
    lastFour: 'text',
    expiresAt: 'timestamptz',
    organizationId: 'uuid',
    organization: 'text',
    recipients: typed<ExpiringKey['recipients']>('jsonb'),
  },
  text: `select k.id, k.name, k.prefix, k.last_four as "lastFour", k.expires_at as "expiresAt",
          o.id as "organizationId", o.name as organization, asked.recipients
     from api_key k join organization o on o.id = k.organization_id and o.deleted_at is null
    cross join lateral (
      select jsonb_agg(jsonb_build_object('email', r.email, 'about', r.about)) as recipients
        from (select o.email, 'key-expiry ' || k.id as about where o.email is not null
              union all
              (select u.email, 'key-expiry ' || k.id || ' ' || u.id
                 from auth."member" m join auth."user" u on u.id = m."userId"
                where m."organizationId" = o.id and m.role = 'owner' and u.email is distinct from lower(o.email)
                order by m.id limit :maxOwners)) r
       where not exists (select from notice n where n.organization_id = o.id and n.about = r.about
                            and n.sent_at is not null)) asked
    where asked.recipients is not null and k.revoked_at is null and k.expires_at > :now
      and k.expires_at <= :now + make_interval(days => :noticeDays) and k.id > :after
    order by k.id limit :limit`,
});

const noticeOf = (key: ExpiringKey, { email, about }: ExpiringKey['recipients'][number]): Notice => ({
  organizationId: key.organizationId,
  about,
  to: email,
  subject: `An API key of ${key.organization} expires soon`,
  text: [
    `The API key "${key.name}" (${key.prefix}…${key.lastFour}, ${keyIds.format(key.id)}) of ${key.organization}`,
    `expires on ${key.expiresAt.toISOString()}.`,
    '',
    'Requests with it will then be rejected. Create a new key, switch to it, and revoke the old one.',
    '',
  ].join('\n'),
});

/**
 * Mails the contact and the owners of every organization that has a key which expires within seven days of `now`, once per
 * key and address. Who becomes one of them in time is mailed too.
 */
export async function noticeExpiringKeys(database: Database, mailer: Mailer, now: Date): Promise<NoticeReport> {
  const report: NoticeReport = { sent: 0, failed: [] };
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const keys = await sqlOn(database.pool).rows(findExpiring, { now, noticeDays, after, limit: batch, maxOwners });
    const notices = keys.flatMap((key) => key.recipients.map((recipient) => noticeOf(key, recipient)));
    const { sent, failed } = await sendNotices(database, mailer, notices);
    report.sent += sent;
    report.failed.push(...failed);
    if (keys.length < batch) return report;
    after = keys.at(-1)!.id;
  }
}

const findUnpublished = systemStatement({
  name: 'key_expiry.unpublished',
  parameters: { now: 'timestamptz', noticeDays: 'int', limit: 'int' },
  row: {
    id: 'uuid',
    name: 'text',
    lastFour: 'text',
    expiresAt: 'timestamptz',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
  },
  text: `select k.id, k.name, k.last_four as "lastFour", k.expires_at as "expiresAt",
    k.organization_id as "organizationId",
          k.environment
     from api_key k
    where k.revoked_at is null and k.expires_at > :now
      and k.expires_at <= :now + make_interval(days => :noticeDays) and ${isKept('k.organization_id')}
      and exists (select from webhook_subscription s where s.organization_id = k.organization_id
                     and s.environment = k.environment and s.deleted_at is null)
      and not exists (select from event e where e.subject_id = k.id and e.type = 'api_key.expiring')
    order by k.id limit :limit`,
});

/** Publishes an event for every key that expires within seven days of `now`, once per key. @returns the number of events */
export async function publishExpiringKeys(database: Database, now: Date): Promise<number> {
  const keys = await sqlOn(database.pool).rows(findUnpublished, { now, noticeDays, limit: batch });
  for (const { id, name, lastFour, expiresAt, ...tenant } of keys) {
    const facts = { keyId: id, name, lastFour, expiresAt: expiresAt.toISOString() };
    await publishEvent(new Scope(database, tenant, `key-expiry-${id}`), keyExpiring, id, facts);
  }
  return keys.length;
}
