import { noticeExpiringKeys } from '../src/operations/key-expiry.ts';
import type { Operations } from '../src/operations/operations.ts';
import { forgetOldVitals } from '../src/operations/vitals.ts';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';

export interface HousekeepingServices {
  database: Database;
  log: Log;
  operations: Pick<Operations, 'mailer'>;
}

export const createHousekeepingActivities = ({ database, log, operations }: HousekeepingServices) => ({
  /** Fails when a mail could not be sent, so that it is tried again soon. */
  async noticeExpiringKeys(): Promise<void> {
    const { sent, failed } = await noticeExpiringKeys(database, operations.mailer, new Date());
    if (sent > 0) log.info({ sent }, 'expiring keys were announced');
    for (const { about, error } of failed) log.warn({ err: error, about }, 'a notice could not be sent');
    if (failed.length > 0) throw new Error(`${failed.length} notices could not be sent.`);
  },

  async forgetOldVitals(): Promise<void> {
    await forgetOldVitals(database, new Date());
  },
});
