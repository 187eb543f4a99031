import { type PlatformEnv, requiredInProduction } from '../platform/env.ts';
import type { Probe } from '../platform/probe.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { Dependency } from './core/health.ts';
import { type Check, checkTimeoutMs } from './health.ts';

// A standby answers queries but rejects every write.
const isWritable = statement<{ writable: boolean }>('health.database', 'select not pg_is_in_recovery() as writable');

export interface Dependencies {
  env: PlatformEnv;
  probe: Probe;
  temporal: TemporalClient;
  isCacheUp: Check;
}

/** The check of each dependency. The environment's check does not disclose which secrets are missing. */
export const dependencyChecks = ({ env, probe, temporal, isCacheUp }: Dependencies): Record<Dependency, Check> => ({
  async database() {
    const [answer] = await probe.rows(isWritable, checkTimeoutMs);
    return answer!.writable;
  },
  cache: isCacheUp,
  environment: async () => requiredInProduction.every((name) => env[name] !== undefined),
  async temporal() {
    await temporal.serverVersion(checkTimeoutMs);
    return true;
  },
});
