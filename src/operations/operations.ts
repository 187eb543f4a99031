import type { Database } from '../platform/database.ts';
import { type Env, mailSettings } from '../platform/env.ts';
import type { Log } from '../platform/log.ts';
import { type Mailer, openMailer } from '../platform/mail.ts';
import { Metrics } from '../platform/metrics.ts';
import { Probe } from '../platform/probe.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { dependencyChecks } from './dependency-checks.ts';
import { DeprecatedUses } from './deprecations.ts';
import { addGauges } from './gauges.ts';
import { type Check, Health } from './health.ts';
import { Vitals } from './vitals.ts';

/** What looks at the service while it works. */
export interface Operations {
  /** For figures, on a connection of its own: readiness does not wait for them. */
  observer: Probe;
  health: Health;
  metrics: Metrics;
  vitals: Vitals;
  deprecatedUses: DeprecatedUses;
  mailer: Mailer;
  close(): Promise<void>;
}

export interface OperationsParts {
  env: Env;
  log: Log;
  database: Database;
  temporal: TemporalClient;
  isCacheUp: Check;
}

/** Connects nothing. */
export function openOperations({ env, log, database, temporal, isCacheUp }: OperationsParts): Operations {
  const probe = new Probe(env.DATABASE_URL);
  const metrics = new Metrics(log);
  const observer = new Probe(env.DATABASE_URL);
  addGauges(metrics, database, observer);
  const vitals = new Vitals(database, log);
  const mailer = openMailer(mailSettings(env));
  return {
    observer,
    health: new Health(dependencyChecks({ env, probe, temporal, isCacheUp })),
    metrics,
    vitals,
    deprecatedUses: new DeprecatedUses(database),
    mailer,
    async close() {
      await vitals.write();
      mailer.close();
      probe.close();
      observer.close();
    },
  };
}
