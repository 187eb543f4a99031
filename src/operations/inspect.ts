import { systemStatement } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Probe } from '../platform/observability/probe.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { type HealthStatus, healthStatus, isReady } from './core/health.ts';
import { type OutboxState, readOutbox } from './gauges.ts';
import { checkTimeoutMs, type Health, type HealthReport } from './health.ts';

const databaseVersions = systemStatement({
  name: 'inspect.versions',
  row: { postgres: 'text', migration: 'text?' },
  text: `select current_setting('server_version') as postgres,
          (select name from mikro_orm_migrations order by id desc limit 1) as migration`,
});

interface Inspected {
  log: Log;
  observer: Probe;
  health: Health;
  temporal: TemporalClient;
  draining: AbortController;
}

/** The deployed build. */
export interface Build {
  /** From package.json. */
  version: string;
  commit: string;
}

interface Inspection {
  status: HealthStatus;
  ready: boolean;
  draining: boolean;
  checks: HealthReport;
  /** Null when the database does not answer. */
  outbox: OutboxState | null;
  versions: Build & { node: string; postgres: string | null; migration: string | null; temporal: string | null };
  uptimeSeconds: number;
}

/** The state of the service, for operators. A value is null when its source does not answer in time. */
export async function inspectService(service: Inspected, build: Build): Promise<Inspection> {
  const { log, observer, health, temporal, draining } = service;
  const orNull = <Found>(asked: Promise<Found>): Promise<Found | null> =>
    asked.catch((error) => {
      log.warn({ err: error }, 'a dependency did not answer an inspection');
      return null;
    });
  const [checks, outbox, versions, temporalVersion] = await Promise.all([
    health.look(),
    orNull(readOutbox(observer)),
    orNull(observer.rows(databaseVersions, checkTimeoutMs)),
    orNull(temporal.serverVersion(checkTimeoutMs)),
  ]);
  return {
    status: healthStatus(checks, { strict: true }),
    ready: isReady(checks) && !draining.signal.aborted,
    draining: draining.signal.aborted,
    checks,
    outbox,
    versions: {
      ...build,
      node: process.version,
      postgres: versions?.[0]?.postgres ?? null,
      migration: versions?.[0]?.migration ?? null,
      temporal: temporalVersion,
    },
    uptimeSeconds: Math.round(process.uptime()),
  };
}
