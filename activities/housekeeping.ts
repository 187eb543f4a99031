import { noticeExpiringKeys, publishExpiringKeys } from '../src/operations/key-expiry.ts';
import type { NoticeReport } from '../src/operations/notices.ts';
import { forgetOldVitals } from '../src/operations/vitals.ts';
import { noticeTurnedOffWebhooks } from '../src/operations/webhook-notices.ts';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';
import type { Mailer } from '../src/platform/mail.ts';

export interface HousekeepingServices {
  database: Database;
  log: Log;
  mailer: Mailer;
}

/** Fails when a mail could not be sent, so that it is tried again soon. */
function report(log: Log, { sent, failed }: NoticeReport, announced: string): void {
  if (sent > 0) log.info({ sent }, announced);
  for (const { about, error } of failed) log.warn({ err: error, about }, 'a notice could not be sent');
  if (failed.length > 0) throw new Error(`${failed.length} notices could not be sent.`);
}

export const createHousekeepingActivities = ({ database, log, mailer }: HousekeepingServices) => ({
  async noticeExpiringKeys(): Promise<void> {
    // Webhooks need no mail server.
    await publishExpiringKeys(database, new Date());
    const noticed = await noticeExpiringKeys(database, mailer, new Date());
    report(log, noticed, 'expiring keys were announced');
  },

  async noticeTurnedOffWebhooks(): Promise<void> {
    const noticed = await noticeTurnedOffWebhooks(database, mailer, new Date());
    report(log, noticed, 'webhooks that were turned off were announced');
  },

  async forgetOldVitals(): Promise<void> {
    await forgetOldVitals(database, new Date());
  },
});
