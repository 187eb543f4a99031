import { availableParallelism } from 'node:os';
import { ActiveKeys } from '../concurrency/active-keys.ts';
import type { Background } from '../concurrency/background.ts';
import { DeadlineExceeded, withDeadline } from '../concurrency/deadline.ts';
import { FairSemaphore } from '../concurrency/fair-semaphore.ts';
import { KeyedSemaphore } from '../concurrency/keyed-semaphore.ts';
import type { Database } from '../database/database.ts';
import { Scope } from '../database/scope.ts';
import { sqlOn } from '../database/sql.ts';
import type { Log } from '../observability/log.ts';
import type { EnvironmentKey } from '../security/tenant-key.ts';
import { type Committed, directGraceMs, type Enqueued, kindsInStatements, type OutboxOfProcess } from './enqueue.ts';
import {
  countUnknown,
  describeError,
  dueKinds,
  finish,
  type LeasedEntry,
  leaseEntries,
  postpone,
} from './outbox-statements.ts';

/**
 * Does the work of one kind. Must be harmless when it was done before, and when it is done twice at the same time.
 * @param hint what the transaction handed on in memory; absent when the drain calls
 */
type OutboxHandler<Hint = never> = (scope: Scope, subjectId: string, hint?: Hint) => Promise<unknown>;
/**
 * The result of a handler whose work continues elsewhere: the tenant's slot is held until its end. The entry is done.
 */
export class GoesOn {
  readonly until: Promise<unknown>;

  /** @param until never rejects */
  constructor(until: Promise<unknown>) {
    this.until = until;
  }
}

/** By kind. */
export type OutboxHandlers = Record<string, OutboxHandler>;

export interface OutboxPolicy {
  /** Entries of one kind that the drain of one process works on at the same time. */
  maxConcurrent: number;
  /**
   * The same for a kind that no caller waits for, and its attempts right after commits. Few, so that its backlog leaves
   * connections and Temporal to the kinds that callers wait for.
   */
  maxConcurrentOthers: number;
  /** Maximum entries of one kind that one call of the drain begins. */
  perDrain: number;
  /** Attempts of one kind right after commits; entries over this limit are left to the drain. */
  maxDirect: number;
  /**
   * Maximum attempts of one kind at the same time: of one tenant while no other tenant is active, and of all tenants
   * that share them. Thousands of starts at once would delay those of all other tenants.
   */
  ofTenantAlone: number;
  ofTenants: number;
  /** How long after its last slot a tenant counts among those that share. */
  rememberTenantMs: number;
  /** Attempts after commits that wait for a slot of their tenant; entries over this limit are left to the drain. */
  directWaiting: number;
  /** An attempt that takes longer gives up its place, and counts as failed until it ends after all. */
  deadlineMs: number;
  /** Longer than the deadline: no other process takes an entry that is being attempted. */
  leaseMs: number;
  /** Before the second attempt; doubled before each further one. */
  firstBackoffMs: number;
  maxBackoffMs: number;
}

export const defaultOutboxPolicy: OutboxPolicy = {
  maxConcurrent: 16,
  maxConcurrentOthers: 4,
  perDrain: 200,
  maxDirect: 1_000,
  ofTenantAlone: 4 * availableParallelism(),
  ofTenants: availableParallelism(),
  rememberTenantMs: 5_000,
  directWaiting: 200,
  deadlineMs: 20_000,
  leaseMs: 30_000,
  firstBackoffMs: 1_000,
  maxBackoffMs: 120_000,
};

/** Notified, by a trigger of the table, when a commit leaves an entry that is due at once. */
export const outboxDueChannel = 'outbox_due';

/** After so many attempts, a failing entry is an error and no longer a warning. */
const manyAttempts = 8;

/** Full jitter above one half: entries that failed together are not tried again together. */
export const backoffMs = (attempts: number, { firstBackoffMs, maxBackoffMs }: OutboxPolicy, chance: number): number =>
  Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(attempts - 1, 30)) * (0.5 + chance / 2);

/**
 * Slots of tenants, by kind. A tenant that starts anything that a caller may wait for counts for all such kinds: a thousand
 * generations of one tenant would delay the runs of another.
 */
function tenantSemaphores(kinds: readonly string[], promptKinds: ReadonlySet<string>, policy: OutboxPolicy) {
  const { ofTenantAlone: alone, ofTenants: together, directWaiting: maxWaiting, rememberTenantMs } = policy;
  const activeKeys = () => new ActiveKeys<EnvironmentKey>(rememberTenantMs);
  const promptKeys = activeKeys();
  const semaphoreOf = (kind: string) =>
    new FairSemaphore({ alone, together, maxWaiting }, promptKinds.has(kind) ? promptKeys : activeKeys());
  return new Map(kinds.map((kind) => [kind, semaphoreOf(kind)]));
}

/** How long the tenant's slot is held after an attempt. */
async function lastOf(result: unknown): Promise<void> {
  if (result instanceof GoesOn) await result.until;
}

export interface DrainReport {
  drained: number;
  failed: { kind: string; subjectId: string; error: unknown }[];
}

interface OutboxServices {
  database: Database;
  background: Background;
  log: Log;
}

interface OutboxOptions {
  /** Kinds that a caller may wait for. */
  promptKinds?: readonly string[];
  policy?: OutboxPolicy;
}

/**
 * Does the enqueued work of committed transactions: at once after their commit, or later by the drain. Kinds do not
 * wait for each other, and a failed entry is tried again at growing intervals, but never given up.
 */
export class Outbox implements OutboxOfProcess {
  readonly #services: OutboxServices;
  readonly #handlers: OutboxHandlers;
  readonly #policy: OutboxPolicy;
  readonly #promptKinds: ReadonlySet<string>;
  readonly #draining = new Set<string>();
  readonly #direct = new Map<string, number>();
  readonly #semaphore: ReadonlyMap<string, FairSemaphore<EnvironmentKey>>;
  /** By kind, for kinds that no caller waits for. */
  readonly #others: KeyedSemaphore;

  /** @throws Error when a statement enqueues a kind that has no handler, or a kind that is to be prompt has none */
  constructor(services: OutboxServices, handlers: OutboxHandlers, options: OutboxOptions = {}) {
    const { promptKinds = [], policy = defaultOutboxPolicy } = options;
    this.#services = services;
    this.#handlers = handlers;
    this.#policy = policy;
    this.#promptKinds = new Set(promptKinds);
    this.#semaphore = tenantSemaphores(this.kinds, this.#promptKinds, policy);
    this.#others = new KeyedSemaphore(policy.maxConcurrentOthers, Number.POSITIVE_INFINITY);
    for (const kind of [...kindsInStatements(), ...promptKinds]) this.requireKind(kind);
  }

  get kinds(): string[] {
    return Object.keys(this.#handlers);
  }

  requireKind(kind: string): void {
    if (!Object.hasOwn(this.#handlers, kind)) throw new Error(`No part declares the outbox kind ${kind}.`);
  }

  /**
   * Attempts the committed entries, after the caller that waits for the commit has continued. Failures are left to the
   * drain.
   */
  afterCommit({ tenant, correlationId, actor, entries }: Committed): undefined {
    const scope = new Scope(this.#services.database, tenant, correlationId, actor);
    for (const entry of entries) {
      const semaphore = this.#semaphoreOf(entry.kind);
      const key = scope.environmentKey;
      if (this.#underWay(entry.kind) >= this.#policy.maxDirect || !semaphore.canEnqueue(key)) continue;
      const drainFrom = performance.now() + directGraceMs;
      this.#services.background.runAfterAnswer(entry.kind, () =>
        semaphore.run(key, async () => {
          const result = await this.#runOfKind(entry.kind, async () => {
            // Otherwise the drain has it by now.
            if (performance.now() < drainFrom) return this.#attemptDirectly(scope, entry);
          });
          await lastOf(result);
        }),
      );
    }
  }

  #runOfKind<Result>(kind: string, work: () => Promise<Result>): Promise<Result> {
    return this.#promptKinds.has(kind) ? work() : this.#others.run(kind, work);
  }

  #semaphoreOf(kind: string): FairSemaphore<EnvironmentKey> {
    this.requireKind(kind);
    return this.#semaphore.get(kind)!;
  }

  #underWay(kind: string): number {
    return this.#direct.get(kind) ?? 0;
  }

  async #attemptDirectly(scope: Scope, entry: Enqueued): Promise<unknown> {
    const { kind } = entry;
    this.#direct.set(kind, this.#underWay(kind) + 1);
    try {
      return await this.#attempt(scope, entry);
    } finally {
      this.#direct.set(kind, this.#underWay(kind) - 1);
    }
  }

  /** Deletes the entry once its work is done, even after the deadline. @returns the result of the handler */
  async #attempt(scope: Scope, { kind, subjectId, entryId, hint }: Enqueued): Promise<unknown> {
    this.requireKind(kind);
    const done = this.#handlers[kind]!(scope, subjectId, hint as never).then(async (result) => {
      if (entryId !== undefined) await scope.rows(finish, { entryId });
      return result;
    });
    return withDeadline(done, this.#policy.deadlineMs);
  }

  /**
   * Does due work. Any number of processes may do this at once, and any number of calls in one: a kind that an earlier
   * call still works on is skipped.
   */
  async drain(): Promise<DrainReport> {
    const report: DrainReport = { drained: 0, failed: [] };
    const due = await dueKinds(sqlOn(this.#services.database.pool), this.kinds);
    const results = await Promise.allSettled([
      this.#reportUnknown(),
      ...due.map((kind) => this.#drainKind(kind, report)),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return report;
  }

  async #drainKind(kind: string, report: DrainReport): Promise<void> {
    if (this.#draining.has(kind)) return;
    this.#draining.add(kind);
    const underWay = new Set<Promise<void>>();
    const semaphore = this.#semaphoreOf(kind);
    const maxConcurrent = this.#promptKinds.has(kind) ? this.#policy.maxConcurrent : this.#policy.maxConcurrentOthers;
    try {
      for (let left = this.#policy.perDrain; left > 0; ) {
        const before = underWay.size;
        const free = Math.min(left, maxConcurrent - before);
        const { leased, isLimited } = await this.#lease(kind, free);
        for (const entry of leased) {
          const scope = this.#scopeOf(entry);
          const attempt: Promise<void> = semaphore
            .run(scope.environmentKey, async () => lastOf(await this.#drainEntry(scope, entry, report)))
            .finally(() => underWay.delete(attempt));
          underWay.add(attempt);
        }
        left -= leased.length;
        if (leased.length < free && !(isLimited && before + leased.length > 0)) break;
        // Begins several at a time, even if earlier ones hang.
        const full = leased.length < free ? Math.max(0, underWay.size - 1) : maxConcurrent / 2;
        while (underWay.size > full) await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
      this.#draining.delete(kind);
    }
  }

  /** Also says whether a tenant has as many as it may, and so perhaps more. */
  async #lease(kind: string, limit: number): Promise<{ leased: LeasedEntry[]; isLimited: boolean }> {
    const semaphore = this.#semaphoreOf(kind);
    const [known, ofOthers] = [semaphore.free(), semaphore.freeOfOthers()];
    const free = { limit, known, ofOthers };
    const leased = await leaseEntries(sqlOn(this.#services.database.pool), kind, free, this.#policy.leaseMs);
    const left = new Map(known);
    for (const key of leased.map((entry) => this.#scopeOf(entry).environmentKey))
      left.set(key, (left.get(key) ?? ofOthers) - 1);
    return { leased, isLimited: [...left.values()].some((places) => places <= 0) };
  }

  #scopeOf({ organizationId, environment, correlationId }: LeasedEntry): Scope {
    return new Scope(this.#services.database, { organizationId, environment }, correlationId);
  }

  async #drainEntry(scope: Scope, entry: LeasedEntry, report: DrainReport): Promise<unknown> {
    const { id, kind, subjectId } = entry;
    try {
      const result = await this.#attempt(scope, { kind, subjectId, entryId: id });
      report.drained++;
      return result;
    } catch (error) {
      report.failed.push({ kind, subjectId, error });
      return this.#failed(scope, entry, error);
    }
  }

  async #failed(scope: Scope, { id, kind, subjectId, attempts }: LeasedEntry, error: unknown): Promise<void> {
    const { log } = this.#services;
    const waitMs = backoffMs(attempts, this.#policy, Math.random());
    const facts = { err: error, kind, subjectId, attempts, retryInMs: Math.round(waitMs) };
    if (attempts >= manyAttempts) log.error(facts, 'an outbox entry keeps failing');
    else log.warn(facts, 'an outbox entry failed and will be retried');
    const goesOn = error instanceof DeadlineExceeded;
    // Where this fails too, the entry is due again when its lease ends.
    await scope
      .rows(postpone, {
        id,
        waitMs,
        error: goesOn ? 'deadline exceeded' : describeError(error),
        leaseMs: goesOn ? this.#policy.leaseMs : null,
      })
      .catch((failure) => log.warn({ err: failure, kind, subjectId }, 'an outbox entry could not be postponed'));
  }

  /** Reports entries of kinds that this version does not know: they wait for a version that does. */
  async #reportUnknown(): Promise<void> {
    const unknown = await sqlOn(this.#services.database.pool).rows(countUnknown, { kinds: this.kinds });
    for (const entries of unknown)
      this.#services.log.error(entries, 'the outbox holds entries of a kind that no part declares');
  }
}
