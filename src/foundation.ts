import type { BoundedWork } from './platform/bounded-work/bounded-work.ts';
import type { Background } from './platform/concurrency/background.ts';
import type { EventType } from './platform/core/event-type.ts';
import type { Database } from './platform/database/database.ts';
import type { Notifications } from './platform/database/notifications.ts';
import type { TenantTable } from './platform/database/tenant-tables.ts';
import type { Egress } from './platform/egress/egress.ts';
import type { PlatformEnv } from './platform/env.ts';
import type { Log } from './platform/observability/log.ts';
import type { Metrics } from './platform/observability/metrics.ts';
import type { Probe } from './platform/observability/probe.ts';
import type { Tracing } from './platform/observability/telemetry.ts';
import type { StepKinds } from './platform/parts/step-kind.ts';
import type { Sealer } from './platform/security/crypto.ts';
import type { TemporalClient } from './temporal/client.ts';

/** What every part may use. */
export interface Foundation {
  env: PlatformEnv;
  log: Log;
  database: Database;
  temporal: TemporalClient;
  /** Seals and opens secrets at rest. */
  sealer: Sealer;
  /** Sends requests to addresses that callers choose. */
  egress: Egress;
  background: Background;
  /** Performs work whose cost tenants decide, in processes of its own. */
  boundedWork: BoundedWork;
  /** Aborted when the process begins to drain: waiting requests are then answered with the current state. */
  draining: AbortController;
  /** Undefined where the environment names no collector. */
  tracing: Tracing | undefined;
  notifications: Notifications;
  metrics: Metrics;
  /** Reads figures from the database on a connection of its own. */
  observer: Probe;
  /** The types of steps that parts bring to workflows. */
  stepKinds: StepKinds;
  /** The event types of all parts, by name. */
  events: ReadonlyMap<string, EventType>;
  /** The tables of all parts that are emptied when an organization is deleted, in this order. */
  tenantTables: readonly TenantTable[];
}
