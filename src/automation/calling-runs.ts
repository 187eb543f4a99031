import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn } from '../platform/sql.ts';
import { admit, claim, findStalled, leave, leaveExpired, lockTotal, placesByPlan, renew } from './calling-runs-sql.ts';

export interface CallingPolicy {
  /** How long a place outlives the process that holds it. */
  leaseMs: number;
  /** How long a run that was let in may take to come. */
  admittedMs: number;
  /** How often a process renews its places, and looks for places that others lost. */
  everyMs: number;
}

export const defaultCallingPolicy: CallingPolicy = { leaseMs: 30_000, admittedMs: 60_000, everyMs: 5_000 };

/**
 * The runs of an organization and environment whose step is calling out. There are as many places as the plan says; further
 * runs wait in the order in which they were created. Who waits costs a row, and its workflow waits for a signal. A place is
 * leased, so that a killed worker's come back.
 */
export class CallingRuns {
  readonly #policy: CallingPolicy;
  /** Runs with a place whose step this process is executing. */
  readonly #held = new Set<string>();

  constructor(policy: CallingPolicy = defaultCallingPolicy) {
    this.#policy = policy;
  }

  /** @returns whether the run has a place. Without one it waits: its workflow is signalled when it has. */
  async claim(scope: Scope, runId: string): Promise<boolean> {
    const { held } = (await scope.one(claim, runId, this.#policy.leaseMs, placesByPlan()))!;
    if (held) this.#held.add(runId);
    return held;
  }

  /** The step that this process executed is over, but the run keeps its place for the next one. */
  handOver(runId: string): void {
    this.#held.delete(runId);
  }

  /** Gives up the place of a run, or its turn, and lets in who comes next. Harmless when it has none. */
  async leave(scope: Scope, runId: string): Promise<void> {
    const left = await scope.one(leave, runId);
    await this.hasLeft(scope, runId, left?.waiting ?? 0);
  }

  /** To be called when a statement of somebody else gave up the place of a run, with how many wait. Lets in who comes next. */
  async hasLeft(scope: Scope, runId: string, waiting: number): Promise<void> {
    this.#held.delete(runId);
    if (waiting > 0) await this.#admit(scope);
  }

  /** Lets in who comes next, once a run has given back places that it had beside its own. */
  async freed(scope: Scope, waiting: number): Promise<void> {
    if (waiting > 0) await this.#admit(scope);
  }

  async #admit(scope: Scope): Promise<void> {
    await scope.transaction(async (tx) => {
      const total = await tx.one(lockTotal, placesByPlan());
      if (!total || total.waiting === 0 || total.free <= 0) return;
      await tx.rows(admit, total.free, this.#policy.admittedMs, scope.correlationId);
    });
  }

  /** Renews the places of this process, takes back what nobody renews, and gives what is free. Across all tenants. */
  async tend(database: Database): Promise<void> {
    const sql = sqlOn(database.pool);
    if (this.#held.size > 0) await sql.rows(renew, [[...this.#held], this.#policy.leaseMs]);
    for (const tenant of await sql.rows(findStalled, [placesByPlan()])) {
      const scope = new Scope(database, tenant, newId());
      await scope.one(leaveExpired);
      await this.#admit(scope);
    }
  }

  /** Does that until it is stopped. */
  async keepTending(database: Database, log: Log, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.tend(database).catch((error) => log.warn({ err: error }, 'places of calling runs were not renewed'));
      await sleep(this.#policy.everyMs, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
