import { systemStatement } from '../platform/database/sql.ts';
import { type PlatformEnv, requiredInProduction } from '../platform/env.ts';
import type { Probe } from '../platform/observability/probe.ts';
import type { Disk } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { missingAttributesProblem } from '../temporal/namespace.ts';
import type { Dependency } from './core/health.ts';
import { type Check, checkTimeoutMs } from './health.ts';

// A standby answers queries but rejects every write.
const isWritable = systemStatement({
  name: 'health.database',
  row: { writable: 'boolean' },
  text: 'select not pg_is_in_recovery() as writable',
});

/** Search attributes that were there are looked for again after this time. */
const attributesCheckedMs = 60_000;

/** Looks for missing search attributes at each check until none is missing, and from then on once a minute. */
function attributesCheck(temporal: TemporalClient): () => Promise<void> {
  let foundAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - foundAt < attributesCheckedMs) return;
    // Whether the server answers at all is checked apart: a store that is slow to count keeps no workflow from starting.
    const missing = await temporal.missingSearchAttributes(checkTimeoutMs).catch(() => []);
    if (missing.length > 0) throw new Error(missingAttributesProblem(temporal.namespace, missing));
    foundAt = performance.now();
  };
}

export interface Dependencies {
  env: PlatformEnv;
  probe: Probe;
  temporal: TemporalClient;
  isCacheUp: Check;
  disk: Pick<Disk, 'check'>;
}

/** The check of each dependency. The environment's check does not disclose which secrets are missing. */
export function dependencyChecks({ env, probe, temporal, isCacheUp, disk }: Dependencies): Record<Dependency, Check> {
  const checkAttributes = attributesCheck(temporal);
  return {
    async database() {
      const [answer] = await probe.rows(isWritable, checkTimeoutMs);
      return answer!.writable;
    },
    cache: isCacheUp,
    environment: async () => requiredInProduction.every((name) => env[name] !== undefined),
    async temporal() {
      await Promise.all([temporal.serverVersion(checkTimeoutMs), checkAttributes()]);
      return true;
    },
    async storage() {
      await disk.check();
      return true;
    },
  };
}
