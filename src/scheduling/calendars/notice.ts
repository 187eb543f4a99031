import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import type { MailSettings } from '../../platform/env.ts';
import { type Mailer, MailFailure, openMailer } from '../../platform/mail.ts';
import type { Log } from '../../platform/observability/log.ts';
import { EntryDone, holdEntry } from '../../platform/outbox/hold-entry.ts';
import type { Environment } from '../../platform/tenant.ts';
import { calendarIds, hostIds } from '../core/ids.ts';
import { hostName } from '../hosts.ts';
import { calendarWork } from './calendars.ts';

/** Mail about resources of test keys never leaves the machine: it is written to a file, whatever the configuration. */
export function openCalendarMail(settings: MailSettings): Record<Environment, Mailer> {
  const { smtpUrl: _, ...toFolder } = settings;
  return { live: openMailer(settings), test: openMailer(toFolder) };
}

interface NoticeServices {
  database: Database;
  log: Log;
  calendarMail: Record<Environment, Mailer>;
}

// The contact of an organization is none of its keys' business: only the system reads it.
const find = systemStatement({
  name: 'calendar_notice.find',
  parameters: { organizationId: 'uuid', environment: 'text', calendarId: 'uuid' },
  row: {
    id: 'uuid',
    name: 'text',
    service: 'text',
    hostId: 'uuid',
    host: 'text',
    at: 'timestamptz',
    organization: 'text',
    email: 'text',
  },
  text: `select c.id, c.name, c.service, h.id as "hostId", ${hostName('h')} as host, c.last_error_at as at,
    o.name as organization, o.email
     from calendar c
     join scheduling_host h on h.id = c.host_id
     join organization o on o.id = c.organization_id and o.email is not null
    where c.organization_id = :organizationId and c.environment = :environment and c.id = :calendarId
      and c.status = 'auth_expired'`,
});

/**
 * Mails the organization's contact that access to a calendar was withdrawn, unless it was connected again since. Sent
 * again after a crash, the mail has the same Message-ID. An address that is refused for good is not asked again.
 */
export async function noticeExpiredAccess(
  { database, log, calendarMail }: NoticeServices,
  scope: Scope,
  calendarId: string,
): Promise<void> {
  const { organizationId, environment } = scope.tenant;
  const expired = await sqlOn(database.pool).one(find, { organizationId, environment, calendarId });
  if (!expired) return;
  const { id, name, service, hostId, host, at, organization, email } = expired;
  const mail = {
    about: `calendar-access ${id} ${Math.floor(at.getTime() / 1000)}`,
    to: email,
    subject: `A calendar of ${organization} has to be connected again`,
    text: [
      `Access to the ${service} calendar "${name}" (${calendarIds.format(id)}) of the host "${host}" (${hostIds.format(hostId)})`,
      `of ${organization} was withdrawn on ${at.toISOString()}.`,
      '',
      'Busy times that were read before stay in force, but new ones are not seen, and bookings are not written into it.',
      'Connect the same account again: POST /v1/scheduling/calendars/connect.',
      '',
    ].join('\n'),
  };
  const begin = () => holdEntry(scope, { kind: calendarWork.notice, subjectId: calendarId });
  try {
    await calendarMail[environment].send(mail, { begin });
  } catch (error) {
    if (error instanceof EntryDone) return;
    if (!(error instanceof MailFailure) || !error.isPermanent) throw error;
    log.warn({ ...scope.tenant, calendarId: id, reason: error.message }, 'a notice of a calendar was refused');
  }
}
