import type { Foundation } from '../foundation.ts';
import { clock } from '../platform/clock.ts';
import { inBatches } from '../platform/database/batches.ts';
import { forgetOldClaims } from '../platform/database/idempotency.ts';
import { mailSettings } from '../platform/env.ts';
import { type Mailer, openMailer } from '../platform/mail.ts';
import { removeOldMails } from '../platform/mail-folder.ts';
import { Probe } from '../platform/observability/probe.ts';
import type { Part } from '../platform/parts/part.ts';
import type { StorageServices } from '../storage/index.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import { maxSeries } from './core/vitals.ts';
import { operationsDeclarations } from './declarations.ts';
import { dependencyChecks } from './dependency-checks.ts';
import { DeprecatedUses } from './deprecations.ts';
import { DeprecatedUse, Notice, Vital } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { platformGauges } from './gauges.ts';
import { Health } from './health.ts';
import { noticeExpiringKeys, publishExpiringKeys } from './key-expiry.ts';
import { reportMissingAttributes } from './missing-attributes.ts';
import { reportNotices } from './notices.ts';
import { forgetOldNotices } from './old-notices.ts';
import { purgeOrganizations } from './purge-organizations.ts';
import { rowPurge } from './purge-rows.ts';
import { forgetOldVitals, Vitals } from './vitals.ts';
import { noticeTurnedOffWebhooks } from './webhook-notices.ts';

const hourMs = 3_600_000;
/** Files of mails that one call removes: each looks at all that are kept. */
const mailBatch = 5_000;

interface OperationsServices {
  health: Health;
  /** Queries the database on a connection of its own, so that requests cannot delay it. */
  probe: Probe;
  vitals: Vitals;
  deprecatedUses: DeprecatedUses;
  mailer: Mailer;
}

/** Health, web vitals, notices by mail, and housekeeping that belongs to no other feature. */
export const operations: Part<Foundation & TenancyServices & StorageServices, OperationsServices> = {
  ...operationsDeclarations,
  failPoints: failPoint.names,
  entities: [Vital, Notice, DeprecatedUse],
  rowBounds: {
    vital: {
      max: { rows: maxSeries, of: 'installation' },
      retention: { by: 'remove old web vitals', after: '28 days' },
    },
    notice: { retention: { by: 'remove old notices', after: '90 days' } },
    deprecated_use: { retention: { by: 'remove old notices', after: 'a year without use' } },
  },
  open({ env, log, database, temporal, redisLimiter, disk }) {
    const probe = new Probe(env.DATABASE_URL);
    // Without Redis there is no cache that could be down.
    const isCacheUp = async () => redisLimiter === undefined || redisLimiter.isUp();
    return {
      probe,
      health: new Health(dependencyChecks({ env, probe, temporal, isCacheUp, disk })),
      vitals: new Vitals(database, log),
      deprecatedUses: new DeprecatedUses(database),
      mailer: openMailer(mailSettings(env)),
    };
  },
  start({ temporal, log, background, draining }) {
    background.run('check of search attributes', reportMissingAttributes(temporal, log, draining.signal));
  },
  async close({ vitals, mailer, probe }) {
    await vitals.write();
    mailer.close();
    probe.close();
  },
  sweeps({ env, database, log, mailer, tenantEnds, disk, tenantTables }) {
    const purgeRows = rowPurge(tenantTables);
    const { folder } = mailSettings(env);
    return [
      {
        name: 'remove deleted organizations',
        everyMs: 60_000,
        run: () => purgeOrganizations({ database, log, tenantEnds, disk, purgeRows }),
      },
      {
        name: 'remove old idempotency keys',
        everyMs: 60_000,
        run: () => inBatches((limit) => forgetOldClaims(database, limit)),
      },
      { name: 'publish expiring keys', everyMs: hourMs, run: () => publishExpiringKeys(database, clock.date()) },
      {
        name: 'mail notices of expiring keys',
        everyMs: hourMs,
        run: async () => reportNotices(log, await noticeExpiringKeys(database, mailer, clock.date())),
      },
      {
        name: 'mail notices of webhooks that were turned off',
        everyMs: hourMs,
        run: async () => reportNotices(log, await noticeTurnedOffWebhooks(database, mailer, clock.date())),
      },
      {
        name: 'remove old notices',
        everyMs: hourMs,
        run: () => inBatches((limit) => forgetOldNotices(database, limit)),
      },
      {
        name: 'remove old files of mails',
        everyMs: 600_000,
        run: () => inBatches((limit) => removeOldMails(folder, limit), mailBatch),
      },
      { name: 'remove old web vitals', everyMs: hourMs, run: () => forgetOldVitals(database, clock.date()) },
    ];
  },
  gauges: ({ database, observer }) => platformGauges(database, observer),
};
