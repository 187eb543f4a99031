import { memoize } from '../platform/concurrency/memoize.ts';
import { type Dependency, dependencies } from './core/health.ts';

/** Leaves time to answer within the second after which a probe gives up. */
export const checkTimeoutMs = 500;
const cachedMs = 1_000;

/** Resolves to whether the dependency works; a rejection contains the reason why it does not. */
export type Check = () => Promise<boolean>;

export interface Finding {
  ok: boolean;
  latencyMs: number;
  /** Why the check failed. Only for operators. */
  problem?: string;
}

export type HealthReport = Record<Dependency, Finding>;

/**
 * Checks all dependencies concurrently, each with a timeout of half a second. The result is cached for a second.
 * The database is checked on a connection of its own: a queue for the pool means load, not a lost dependency, and removing
 * the process from its load balancer would only move that load to the others.
 */
export class Health {
  readonly look: () => Promise<HealthReport>;

  constructor(checks: Record<Dependency, Check>) {
    this.look = memoize(cachedMs, async () => {
      const found = await Promise.all(dependencies.map(async (name) => [name, await measure(checks[name])] as const));
      return Object.fromEntries(found) as HealthReport;
    });
  }
}

async function measure(check: Check): Promise<Finding> {
  const began = performance.now();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`No answer in ${checkTimeoutMs} ms.`)), checkTimeoutMs);
  const since = () => Math.round((performance.now() - began) * 10) / 10;
  try {
    const ok = await Promise.race([check(), late.promise]);
    return { ok, latencyMs: since() };
  } catch (error) {
    return { ok: false, latencyMs: since(), problem: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
