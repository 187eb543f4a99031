import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { type Mail, type Mailer, MailFailure } from '../platform/mail.ts';
import type { Log } from '../platform/observability/log.ts';

/** Longer than sending a mail takes. After this time another process sends the notice of a killed one. */
const leaseMinutes = 5;
/** After this time an address is asked again that the server refused for good: the address may have been corrected. */
const refusedMinutes = 24 * 60;

const lease = systemStatement({
  name: 'notice.lease',
  parameters: { organizationId: 'uuid', about: 'text', leaseMinutes: 'int' },
  row: { leased: 'boolean' },
  text: `insert into notice (organization_id, about, leased_until, sent_at)
   values (:organizationId, :about, atelier_now() + make_interval(mins => :leaseMinutes), null)
   on conflict (organization_id, about) do update set leased_until = excluded.leased_until
    where notice.sent_at is null and notice.leased_until < atelier_now()
   returning true as leased`,
});

const markSent = systemStatement({
  name: 'notice.sent',
  parameters: { organizationId: 'uuid', about: 'text' },
  text: 'update notice set sent_at = atelier_now() where organization_id = :organizationId and about = :about',
});

const releaseLease = systemStatement({
  name: 'notice.release',
  parameters: { organizationId: 'uuid', about: 'text', minutes: 'int' },
  text: `update notice set leased_until = atelier_now() + make_interval(mins => :minutes)
    where organization_id = :organizationId and about = :about and sent_at is null`,
});

/** A mail that is sent to an organization once, identified by `about`. */
export interface Notice extends Mail {
  organizationId: string;
}

/** The number of sent notices, and those that failed. A failed notice is retried by the next sweep, a refused one later. */
export interface NoticeReport {
  sent: number;
  failed: { about: string; error: unknown }[];
}

/**
 * Sends the notices that were not sent before. No row is locked while a mail is being sent. After a crash between sending
 * and recording, the mail is sent again with the same Message-ID.
 * @param retriesRefused whether the next call asks for an address again that was refused for good, and not one a day later
 */
export async function sendNotices(
  database: Database,
  mailer: Mailer,
  notices: Notice[],
  { retriesRefused = false } = {},
): Promise<NoticeReport> {
  const sql = sqlOn(database.pool);
  const report: NoticeReport = { sent: 0, failed: [] };
  for (const { organizationId, ...mail } of notices) {
    if (!(await sql.one(lease, { organizationId, about: mail.about, leaseMinutes }))) continue;
    try {
      await mailer.send(mail);
    } catch (error) {
      report.failed.push({ about: mail.about, error });
      const isRefused = error instanceof MailFailure && error.isPermanent && !retriesRefused;
      await sql.rows(releaseLease, { organizationId, about: mail.about, minutes: isRefused ? refusedMinutes : 0 });
      continue;
    }
    await sql.rows(markSent, { organizationId, about: mail.about });
    report.sent++;
  }
  return report;
}

/**
 * Logs the failed notices. @returns the number of sent ones @throws Error if any notice failed, so that the sweep is
 * retried soon
 */
export function reportNotices(log: Log, { sent, failed }: NoticeReport): number {
  for (const { about, error } of failed) log.warn({ err: error, about }, 'a notice could not be sent');
  if (failed.length > 0) throw new Error(`${failed.length} notices could not be sent.`);
  return sent;
}
