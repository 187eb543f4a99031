import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn } from '../../platform/database/sql.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import {
  admitNext,
  claim,
  findStalled,
  lockTotal,
  release,
  releaseExpired,
  renew,
  slotsByPlan,
} from './active-run-limiter-sql.ts';

interface ActiveRunPolicy {
  /** How long a slot outlives the process that holds it. */
  leaseMs: number;
  /** How long an admitted run may take to use its slot. */
  admittedMs: number;
  /** How often a process renews its slots, and looks for slots whose lease has expired. */
  everyMs: number;
}

const defaultActiveRunPolicy: ActiveRunPolicy = { leaseMs: 30_000, admittedMs: 60_000, everyMs: 5_000 };

/**
 * Limits how many runs of an organization and environment call out at the same time. The plan sets the number of slots;
 * further runs wait in the order in which they were created. A waiting run costs a row, and its workflow waits for a signal.
 * A slot is leased, so that those of a killed worker become free.
 */
export class ActiveRunLimiter {
  readonly #policy: ActiveRunPolicy;
  /** Runs with a slot whose step this process is executing. */
  readonly #held = new Set<string>();

  constructor(policy: ActiveRunPolicy = defaultActiveRunPolicy) {
    this.#policy = policy;
  }

  /** @returns whether the run has a slot. Without one it waits: its workflow is signalled when it has one. */
  async claim(scope: Scope, runId: string): Promise<boolean> {
    const { held } = (await scope.one(claim, { runId, leaseMs: this.#policy.leaseMs, slotsByPlan: slotsByPlan() }))!;
    if (held) this.#held.add(runId);
    return held;
  }

  /** The step that this process executed has ended, but the run keeps its slot for the next one. */
  handOver(runId: string): void {
    this.#held.delete(runId);
  }

  /** Releases the slot of a run, or ends its wait, and admits the next run. Harmless when it has neither. */
  async release(scope: Scope, runId: string): Promise<void> {
    const total = await scope.one(release, { runId });
    await this.released(scope, runId, total?.waiting ?? 0);
  }

  /** To be called when another statement released the slot of a run, with how many wait. Admits the next run. */
  async released(scope: Scope, runId: string, waiting: number): Promise<void> {
    this.#held.delete(runId);
    if (waiting > 0) await this.#admitNext(scope);
  }

  /** Admits the next run, after a run has released slots besides its own. */
  async freed(scope: Scope, waiting: number): Promise<void> {
    if (waiting > 0) await this.#admitNext(scope);
  }

  async #admitNext(scope: Scope): Promise<void> {
    await scope.transaction(async (tx) => {
      const total = await tx.one(lockTotal, { slotsByPlan: slotsByPlan() });
      if (!total || total.waiting === 0 || total.free <= 0) return;
      const { correlationId } = scope;
      await tx.rows(admitNext, { limit: total.free, leaseMs: this.#policy.admittedMs, correlationId });
    });
  }

  /**
   * Renews the slots of this process, releases slots whose lease has expired, and admits waiting runs, across all
   * tenants.
   */
  async tend(database: Database): Promise<void> {
    const sql = sqlOn(database.pool);
    if (this.#held.size > 0) await sql.rows(renew, { runIds: [...this.#held], leaseMs: this.#policy.leaseMs });
    for (const tenant of await sql.rows(findStalled, { slotsByPlan: slotsByPlan() })) {
      const scope = new Scope(database, tenant, newId());
      await scope.one(releaseExpired);
      await this.#admitNext(scope);
    }
  }

  /** Does that until it is stopped. */
  async keepTending(database: Database, log: Log, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.tend(database).catch((error) =>
        log.warn({ err: error }, 'slots of runs that call out were not renewed'),
      );
      await sleep(this.#policy.everyMs, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
