import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Mailer } from '../platform/mail.ts';
import { webhookIds } from '../webhooks/core/ids.ts';
import { type DisabledReason, disabledReasons } from '../webhooks/core/subscription-state.ts';
import { type Notice, type NoticeReport, sendNotices } from './notices.ts';

/** Webhooks that were turned off earlier get no notice. */
const noticeDays = 7;
const batch = 100;

interface TurnedOff {
  id: string;
  name: string;
  url: string;
  reason: DisabledReason;
  disabledAt: Date;
  organizationId: string;
  organization: string;
  email: string;
}

// Those that failed come after those that were not tried: however many fail, they keep no others waiting.
const findTurnedOff = systemStatement({
  name: 'webhook_notices.find',
  parameters: { now: 'timestamptz', noticeDays: 'int', limit: 'int' },
  row: {
    id: 'uuid',
    name: 'text',
    url: 'text',
    reason: typed<DisabledReason>('text'),
    disabledAt: 'timestamptz',
    organizationId: 'uuid',
    organization: 'text',
    email: 'text',
  },
  text: `select s.id, s.name, s.url, s.disabled_reason as reason, s.disabled_at as "disabledAt",
          o.id as "organizationId", o.name as organization, o.email
     from webhook_subscription s join organization o on o.id = s.organization_id and o.email is not null
       and o.deleted_at is null
     left join notice n on n.organization_id = o.id
       and n.about = 'webhook-off ' || s.id || ' ' || floor(extract(epoch from s.disabled_at))::bigint
    where s.disabled_reason is not null and s.deleted_at is null
      and s.disabled_at > :now - make_interval(days => :noticeDays)
      and n.sent_at is null and (n.leased_until is null or n.leased_until < atelier_now())
    order by n.leased_until nulls first, s.disabled_at limit :limit`,
});

const noticeOf = ({ id, name, url, reason, disabledAt, organizationId, organization, email }: TurnedOff): Notice => ({
  organizationId,
  about: `webhook-off ${id} ${Math.floor(disabledAt.getTime() / 1000)}`,
  to: email,
  subject: `A webhook of ${organization} was turned off`,
  text: [
    `The webhook "${name}" (${webhookIds.format(id)}) of ${organization}, which sends to`,
    `${new URL(url).origin}, was turned off on ${disabledAt.toISOString()}: ${disabledReasons[reason]}.`,
    '',
    'Nothing is lost. Once its receiver works again, turn it on and recover the missed deliveries:',
    `PATCH /v1/webhooks/${webhookIds.format(id)} with {"isActive": true}, and POST .../recover with {"since": ...}.`,
    '',
  ].join('\n'),
});

/** Mails organizations whose webhook was turned off automatically, once each time it is turned off. */
export async function noticeTurnedOffWebhooks(database: Database, mailer: Mailer, now: Date): Promise<NoticeReport> {
  const webhooks = await sqlOn(database.pool).rows(findTurnedOff, { now, noticeDays, limit: batch });
  return sendNotices(database, mailer, webhooks.map(noticeOf));
}
