import type { Background } from './background.ts';
import type { Database } from './database.ts';
import { DeadlineExceeded, withDeadline } from './deadline.ts';
import { type Committed, type Enqueued, kindsInStatements, type OutboxOfProcess } from './enqueue.ts';
import type { Log } from './log.ts';
import { Scope } from './scope.ts';
import { sqlOn, statement } from './sql.ts';
import type { Environment, Tenant } from './tenant.ts';

/**
 * Does the work of one kind. Must be harmless when it was done before, and when it is done twice at the same time.
 * @param hint what the transaction handed on in memory; absent when the drain calls
 */
export type OutboxHandler<Hint = never> = (scope: Scope, subjectId: string, hint?: Hint) => Promise<unknown>;
/** By kind. */
export type OutboxHandlers = Record<string, OutboxHandler>;

export interface OutboxPolicy {
  /** Entries of one kind that the drain of one process works on at the same time. */
  atOnce: number;
  /** Entries of one kind that one call of the drain takes up. */
  perDrain: number;
  /** Attempts of one kind right after commits; what is over that is left to the drain. */
  directAtOnce: number;
  /** An attempt that takes longer gives up its place, and counts as failed until it ends after all. */
  deadlineMs: number;
  /** Longer than the deadline: nobody else takes up an entry that is being attempted. */
  leaseMs: number;
  /** Before the second attempt; doubled before each further one. */
  firstBackOffMs: number;
  mostBackOffMs: number;
}

export const defaultOutboxPolicy: OutboxPolicy = {
  atOnce: 16,
  perDrain: 200,
  directAtOnce: 1_000,
  deadlineMs: 20_000,
  leaseMs: 30_000,
  firstBackOffMs: 1_000,
  mostBackOffMs: 120_000,
};

/** After so many attempts, a failing entry is an error and no longer a warning. */
const manyAttempts = 8;

/** Full jitter above one half: entries that failed together are not tried again together. */
export const backOffMs = (attempts: number, { firstBackOffMs, mostBackOffMs }: OutboxPolicy, chance: number): number =>
  Math.min(mostBackOffMs, firstBackOffMs * 2 ** Math.min(attempts - 1, 30)) * (0.5 + chance / 2);

interface Leased extends Tenant {
  id: string;
  kind: string;
  subjectId: string;
  correlationId: string;
  attempts: number;
}

// Several drains may run at once: each leases other rows, and a lease that its holder did not end runs out.
const lease = statement<Leased>(
  'outbox.lease',
  `update outbox set available_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
          attempts = attempts + 1, last_attempt_at = clock_timestamp()
    where id in (select id from outbox where kind = $1 and available_at <= clock_timestamp()
                  order by available_at limit $2 for update skip locked)
   returning id, kind, subject_id as "subjectId", organization_id as "organizationId", environment,
             correlation_id as "correlationId", attempts`,
);

const finish = statement('outbox.delete', 'delete from outbox where id = $1');

const postpone = statement(
  'outbox.postpone',
  `update outbox set available_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000), last_error = $3
    where id = $1`,
);

const countUnknown = statement<{ kind: string; count: number }>(
  'outbox.unknown',
  `select kind, count(*)::int as count from (select kind from outbox where kind <> all($1) limit 10000) as unknown
    group by kind`,
);

/** What an operator may see of an error: its class and code, and nothing that a tenant wrote. */
function errorClass(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { name, code } = error as { name: string; code?: unknown };
  return `${name}${typeof code === 'string' || typeof code === 'number' ? ` ${code}` : ''}`.slice(0, 80);
}

export interface DrainReport {
  drained: number;
  failed: { kind: string; subjectId: string; error: unknown }[];
}

export interface OutboxServices {
  database: Database;
  background: Background;
  log: Log;
}

/**
 * Does what committed transactions enqueued: at once after their commit, and by the drain what was not done then. Kinds
 * do not wait for each other, and an entry that fails is tried again later and later, but never given up.
 */
export class Outbox implements OutboxOfProcess {
  readonly #services: OutboxServices;
  readonly #handlers: OutboxHandlers;
  readonly #policy: OutboxPolicy;
  readonly #draining = new Set<string>();
  readonly #direct = new Map<string, number>();

  /** @throws Error when a statement enqueues a kind that has no handler */
  constructor(services: OutboxServices, handlers: OutboxHandlers, policy: OutboxPolicy = defaultOutboxPolicy) {
    this.#services = services;
    this.#handlers = handlers;
    this.#policy = policy;
    for (const kind of kindsInStatements()) this.requireKind(kind);
  }

  get kinds(): string[] {
    return Object.keys(this.#handlers);
  }

  requireKind(kind: string): void {
    if (!Object.hasOwn(this.#handlers, kind)) throw new Error(`No part declares the outbox kind ${kind}.`);
  }

  /** Attempts what was committed, after whoever waits for the commit had its turn. What fails is left to the drain. */
  afterCommit({ tenant, correlationId, actor, entries }: Committed): undefined {
    const scope = new Scope(this.#services.database, tenant, correlationId, actor);
    for (const entry of entries) {
      const underWay = this.#direct.get(entry.kind) ?? 0;
      if (underWay >= this.#policy.directAtOnce) continue;
      this.#direct.set(entry.kind, underWay + 1);
      this.#services.background.runAfterAnswer(entry.kind, () =>
        this.#attempt(scope, entry).finally(() => this.#direct.set(entry.kind, this.#direct.get(entry.kind)! - 1)),
      );
    }
  }

  /** Deletes the entry once its work is done, also when that is after the deadline. */
  async #attempt(scope: Scope, { kind, subjectId, entryId, hint }: Enqueued): Promise<void> {
    this.requireKind(kind);
    const done = this.#handlers[kind]!(scope, subjectId, hint as never).then(async () => {
      if (entryId !== undefined) await sqlOn(this.#services.database.pool).rows(finish, [entryId]);
    });
    await withDeadline(done, this.#policy.deadlineMs);
  }

  /**
   * Does what is due. Any number of processes may do this at once, and any number of calls in one: a kind that an earlier
   * call still works on is passed over.
   */
  async drain(): Promise<DrainReport> {
    const report: DrainReport = { drained: 0, failed: [] };
    const results = await Promise.allSettled([
      this.#reportUnknown(),
      ...this.kinds.map((kind) => this.#drainKind(kind, report)),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return report;
  }

  async #drainKind(kind: string, report: DrainReport): Promise<void> {
    if (this.#draining.has(kind)) return;
    this.#draining.add(kind);
    const underWay = new Set<Promise<void>>();
    try {
      for (let left = this.#policy.perDrain; left > 0; ) {
        const room = Math.min(left, this.#policy.atOnce - underWay.size);
        const leased = await this.#lease(kind, room);
        for (const entry of leased) {
          const attempt: Promise<void> = this.#drainEntry(entry, report).finally(() => underWay.delete(attempt));
          underWay.add(attempt);
        }
        left -= leased.length;
        if (leased.length < room) break;
        // Takes up several at a time, however many of those before hang.
        while (underWay.size > this.#policy.atOnce / 2) await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
      this.#draining.delete(kind);
    }
  }

  #lease(kind: string, room: number): Promise<Leased[]> {
    return sqlOn(this.#services.database.pool).rows(lease, [kind, room, this.#policy.leaseMs]);
  }

  async #drainEntry(entry: Leased, report: DrainReport): Promise<void> {
    const { id, kind, subjectId, organizationId, environment, correlationId } = entry;
    const { database } = this.#services;
    const scope = new Scope(database, { organizationId, environment: environment as Environment }, correlationId);
    try {
      await this.#attempt(scope, { kind, subjectId, entryId: id });
      report.drained++;
    } catch (error) {
      report.failed.push({ kind, subjectId, error });
      await this.#failed(entry, error);
    }
  }

  async #failed({ id, kind, subjectId, attempts }: Leased, error: unknown): Promise<void> {
    const { database, log } = this.#services;
    const waitMs = backOffMs(attempts, this.#policy, Math.random());
    const facts = { err: error, kind, subjectId, attempts, retryInMs: Math.round(waitMs) };
    if (attempts >= manyAttempts) log.error(facts, 'an outbox entry keeps failing');
    else log.warn(facts, 'an outbox entry failed and will be retried');
    // Where this fails too, the entry is due again when its lease ends.
    await sqlOn(database.pool)
      .rows(postpone, [id, waitMs, error instanceof DeadlineExceeded ? 'deadline exceeded' : errorClass(error)])
      .catch((failure) => log.warn({ err: failure, kind, subjectId }, 'an outbox entry could not be postponed'));
  }

  /** Of a kind that this version does not know: they wait for one that does. */
  async #reportUnknown(): Promise<void> {
    const unknown = await sqlOn(this.#services.database.pool).rows(countUnknown, [this.kinds]);
    for (const entries of unknown)
      this.#services.log.error(entries, 'the outbox holds entries of a kind that no part declares');
  }
}
