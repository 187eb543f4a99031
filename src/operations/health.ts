import { memoize } from '../platform/memoize.ts';
import { type Dependency, dependencies } from './core/health.ts';

/** Together with what an answer itself takes, below the second within which a probe wants it. */
export const checkTimeoutMs = 500;
const rememberedMs = 1_000;

/** Resolves with whether all is well; a rejection says why it is not. */
export type Check = () => Promise<boolean>;

export interface Finding {
  ok: boolean;
  latencyMs: number;
  /** For the operator's eyes. */
  problem?: string;
}

export type HealthReport = Record<Dependency, Finding>;

/**
 * Looks at what the service depends on: each within half a second, all at once, at most once a second however many ask.
 * The database is asked on a connection of its own. Requests that queue for the pool are load and not the loss of a
 * dependency: taking the process away from its load balancer would put the same load onto the others.
 */
export class Health {
  readonly look: () => Promise<HealthReport>;

  constructor(checks: Record<Dependency, Check>) {
    this.look = memoize(rememberedMs, async () => {
      const found = await Promise.all(dependencies.map(async (name) => [name, await findOut(checks[name])] as const));
      return Object.fromEntries(found) as HealthReport;
    });
  }
}

async function findOut(check: Check): Promise<Finding> {
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
