import type { Waiters } from '../platform/concurrency/waiters.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import type { SqlType, Typed } from '../platform/database/sql-types.ts';
import type { JobContract, JobRef } from '../temporal/contracts/jobs.ts';
import type { Priority } from '../temporal/contracts/priorities.ts';
import type { PlanLimit } from '../tenancy/core/plan-limits.ts';

/** The types of a job. */
export interface JobTypes {
  /** What its end, its start and its sweeps need of the services. */
  services: object;
  policy: object;
  /** Columns of its row that the start of its workflow reads. */
  row: object;
  /** What its creator passes to the start right after the commit. */
  hint: { waiter: string | null };
  /** Why it has no result, as its feature records that. */
  error: unknown;
}

/** Why a job stops without a result, besides the errors that its own work finds. */
export type StopReason = 'timeout' | 'terminated' | 'unexpected' | 'cancelled';

/** The transaction that ends a job. Each of its ends settles or voids the reservation. */
export interface Ending {
  tx: Transaction;
  /** @param amount of credits to charge; the rest is returned */
  settleCredits(amount: number): Promise<unknown>;
  voidCredits(): Promise<unknown>;
}

export interface StartOptions {
  /** Further arguments of the workflow. */
  args?: object;
  priority: Priority;
  /** Shown to operators. */
  summary?: string;
  /** The workflow waits for its time before it looks at its row. */
  waitsFirst?: boolean;
}

/** Work that is requested once, reserved in credits, durable, and ends: a row, and a workflow that works for it. */
export interface JobDeclaration<Of extends JobTypes> {
  contract: JobContract;
  /** Many of them, in the names of sweeps: `voice calls`. */
  plural: string;
  table: string;
  /** Condition in SQL of rows that have not ended, with an index of its own. */
  isOpen: string;
  failPoints?: readonly string[];
  policy(services: Of['services']): Of['policy'];
  waiters(services: Of['services']): Pick<Waiters, 'notifyLocal' | 'notifyRemote'>;
  deadline: {
    /** Column from which the time counts; by default that of its creation. */
    from?: 'created_at' | 'due_at';
    /** Milliseconds. Several where kinds of the job differ: `sql` then chooses among `(:ages)[1]`, `(:ages)[2]`, ... */
    ms(policy: Of['policy']): number[];
    sql?: string;
    /** Time after the deadline for a workflow to record the end itself; by default a minute. */
    graceMs?: number;
  };
  /** How many of them an organization may have open, by its plan. */
  limit?: PlanLimit;
  errors: Readonly<Record<StopReason, Of['error']>>;
  /**
   * Records the end without a result, unless the job has ended, and voids its credits.
   * @returns false when it had ended before
   */
  stop(services: Of['services'], ending: Ending, ref: JobRef, error: Of['error']): Promise<boolean>;
  start: {
    /** SQL of the columns of `row`. */
    columns?: string;
    /** Their types. */
    row?: { readonly [Column in keyof Of['row']]: SqlType | Typed<unknown> };
    /** Condition in SQL; by default that it has not ended. */
    isPending?: string;
    options(row: Of['row'], hint: Of['hint'] | undefined): StartOptions;
    /**
     * Called before the start.
     * @returns resolves when the next job of the tenant may start, where other tenants are active, and never rejects; undefined:
     *   right after the start
     */
    busyUntil?(services: Of['services'], scope: Scope, id: string): Promise<unknown> | undefined;
  };
  /** Absent: its feature removes its rows. */
  forget?: {
    /** The column from which it is counted how long rows are kept; by default that of their creation. */
    from?: 'created_at' | 'finished_at';
    /** Further CTEs, for rows of other tables: the ids of the removed ones are in `old`. */
    also?: string;
  };
  /** Absent: its feature has gauges of its own. */
  gauges?: { name: string; title: string; kinds: readonly string[] };
}
