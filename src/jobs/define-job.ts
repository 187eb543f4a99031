import { reserveCredits, settleCredits, voidCredits } from '../credits/index.ts';
import { Waiters } from '../platform/concurrency/waiters.ts';
import { recordPatiently } from '../platform/database/database-errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Notifications } from '../platform/database/notifications.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { concurrencyLimitReached } from '../platform/errors.ts';
import { GoesOn, type OutboxHandlers } from '../platform/outbox/outbox.ts';
import type { Declarations } from '../platform/parts/part.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/index.ts';
import { creditKey, jobWorkflowId, storedName } from './core/names.ts';
import type { Ending, JobDeclaration, JobTypes, StopReason } from './declaration.ts';
import { type JobFailPoint, jobFailPoints } from './fail-points.ts';
import { jobGauges } from './gauges.ts';
import { jobSweeps } from './sweeps.ts';

/** Reserved credits are kept for an hour after the deadline, so that no work is done on credits that were returned. */
const reservedAfterDeadlineMs = 3_600_000;

interface NewJob<Hint> {
  /** A new UUID. */
  id: string;
  idempotency: IdempotencyClaim | undefined;
  /** Inserts the row, and whatever belongs to it. */
  insert(tx: Transaction): Promise<unknown>;
  /** Absent: it is free. */
  credits?: { operation: string; amount: number; deadlineMs: number };
  /** The plan of the caller's organization, where the job has a limit. */
  plan?: PlanName;
  /** What may refuse it after its credits were reserved. */
  check?(tx: Transaction): void;
  /** Passed to the start right after the commit; null: no workflow is started. */
  hint: Hint | null;
}

export interface CreatedJob {
  id: string;
  /** An earlier request with the same Idempotency-Key created it. */
  replayed: boolean;
}

function jobCreation<Of extends JobTypes>(
  { contract, table, isOpen, limit }: JobDeclaration<Of>,
  failPoint: JobFailPoint,
) {
  const countOpen = statement({
    name: `${contract.name}.count_open`,
    parameters: { upTo: 'int' },
    row: { open: 'int' },
    text: `select count(*)::int as open from (
       select from ${table} where organization_id = :organizationId and environment = :environment and ${isOpen} limit :upTo) as counted`,
  });

  // The account of the reserved credits is locked until the commit: two transactions do not count at the same time.
  async function enforceLimit(tx: Transaction, plan: PlanName | undefined): Promise<void> {
    if (!limit || !plan) return;
    const max = limit.of(plan);
    const { open } = (await tx.one(countOpen, { upTo: max + 1 }))!;
    if (open > max) throw concurrencyLimitReached(max, limit.window);
  }

  return {
    /** Whether the plan includes another open one now. What `create` finds is what counts. */
    async hasRoom(scope: Scope, plan: PlanName): Promise<boolean> {
      if (!limit) return true;
      const max = limit.of(plan);
      return (await scope.one(countOpen, { upTo: max }))!.open < max;
    },

    /** The job that an earlier request with the same key created. @throws AppError idempotency_key_reused */
    async findEarlier(scope: Scope, claim: IdempotencyClaim | undefined): Promise<CreatedJob | undefined> {
      const earlier = claim && (await findClaim(scope, claim));
      return earlier && { id: earlier.resourceId, replayed: true };
    },

    /**
     * Creates a job: its row, its reserved credits, the claim of its Idempotency-Key and the outbox entry that starts its
     * workflow commit together.
     * @throws AppError insufficient_credits, idempotency_key_reused, rate_limit_exceeded; and whatever `insert` throws
     */
    async create(
      scope: Scope,
      { id, idempotency: claim, insert, credits, plan, check, hint }: NewJob<Of['hint']>,
    ): Promise<CreatedJob> {
      const create = async (tx: Transaction) => {
        // The row before the credits, whose account is locked until the commit.
        await insert(tx);
        if (credits) {
          const { deadlineMs, ...reserved } = credits;
          const expiresInMs = deadlineMs + reservedAfterDeadlineMs;
          await reserveCredits(tx, { key: creditKey(contract, id), ...reserved, expiresInMs });
        }
        await enforceLimit(tx, plan);
        check?.(tx);
        if (hint) await tx.enqueue(`${storedName(contract)}.start`, id, hint);
        return { id };
      };
      const { outcome, replayed } = await scope.transaction(create, { claim, outcome: { id } });
      if (!replayed) failPoint('committed');
      return { id: outcome.id, replayed };
    },
  };
}

function jobStart<Of extends JobTypes>(
  { contract, table, isOpen, policy, start }: JobDeclaration<Of>,
  failPoint: JobFailPoint,
) {
  const { name, queue, workflow } = contract;
  const { columns, isPending = isOpen, options } = start;
  const findPending = statement({
    name: `${name}.pending_start`,
    parameters: { id: 'uuid' },
    row: { ...start.row, organization_id: 'uuid', plan: typed<PlanName>('text') },
    text: `select job.*, o.plan
       from (select organization_id${columns === undefined ? '' : `, ${columns}`} from ${table}
              where organization_id = :organizationId and environment = :environment and id = :id and ${isPending}) job
       join organization o on o.id = job.organization_id`,
  });
  return {
    /**
     * Starts the workflow of a job, unless it is over. Harmless when repeated.
     * @param hint given right after the commit
     * @returns while the job keeps the process busy
     */
    async start(
      services: Of['services'] & { temporal: TemporalClient },
      scope: Scope,
      id: string,
      hint?: Of['hint'],
    ): Promise<GoesOn | undefined> {
      const pending = await scope.one(findPending, { id });
      if (!pending) return undefined;
      const { tenant, correlationId } = scope;
      const { args, waitsFirst, ...shown } = options(pending as Of['row'], hint);
      // Listens first: the job may be over before Temporal has answered.
      const busy = start.busyUntil?.(services, scope, id);
      const workflowId = jobWorkflowId(contract, id);
      const isNew = await services.temporal.startUnlessStarted({
        type: workflow,
        workflowId,
        queue,
        ...shown,
        args: { ...tenant, correlationId, id, waiter: hint?.waiter ?? null, policy: policy(services), ...args },
        resourceId: id,
        fairness: fairnessOf(tenant, pending.plan),
        once: true,
      });
      failPoint('started');
      // Where it was cancelled meanwhile, Temporal had no workflow to cancel, and this one would wait for its time.
      if (waitsFirst && !(await scope.one(findPending, { id }))) await services.temporal.cancel(workflowId);
      return busy && isNew ? new GoesOn(busy) : undefined;
    },
  };
}

function jobEnd<Of extends JobTypes>({ contract, errors, stop, waiters }: JobDeclaration<Of>, failPoint: JobFailPoint) {
  const key = (id: string) => ({ key: creditKey(contract, id) });
  const endingIn = (tx: Transaction, id: string): Ending => ({
    tx,
    settleCredits: (amount) => settleCredits(tx, { ...key(id), amount }),
    voidCredits: () => voidCredits(tx, key(id)),
  });

  /**
   * Ends a job: what `record` does commits together, and wakes the request that waits for the job.
   * @param record records the end, and settles or voids the credits; false: the job had ended before
   * @returns the same
   */
  async function end(
    services: Of['services'],
    scope: Scope,
    { id, waiter }: JobRef,
    record: (ending: Ending) => Promise<boolean>,
  ): Promise<boolean> {
    const waiting = waiters(services);
    const hasEnded = await recordPatiently(() =>
      scope.transaction(async (tx) => {
        const recorded = await record(endingIn(tx, id));
        if (recorded) await waiting.notifyRemote(tx, id, waiter);
        return recorded;
      }),
    );
    failPoint('recorded');
    waiting.notifyLocal(id);
    return hasEnded;
  }

  /** Ends a job without a result, and returns its credits. @returns false when it had ended before */
  const stopWith = (
    services: Of['services'],
    scope: Scope,
    ref: JobRef,
    error: Of['error'],
    also?: (tx: Transaction) => Promise<void>,
  ): Promise<boolean> =>
    end(services, scope, ref, async (ending) => {
      if (!(await stop(services, ending, ref, error))) return false;
      await also?.(ending.tx);
      return true;
    });

  /** Has the workflow of a job stop after the commit. Harmless when it is over or was never started. */
  const enqueueCancel = (tx: Transaction, id: string): Promise<void> =>
    tx.enqueue(`${storedName(contract)}.cancel`, id);

  return {
    end,
    stopWith,
    enqueueCancel,
    stop: (services: Of['services'], scope: Scope, ref: JobRef, reason: StopReason): Promise<boolean> =>
      stopWith(services, scope, ref, errors[reason]),

    /** Stops a job for its caller, and its workflow. @returns false when it had ended before */
    cancel: (services: Of['services'], scope: Scope, id: string): Promise<boolean> =>
      stopWith(services, scope, { id, waiter: null }, errors.cancelled, (tx) => enqueueCancel(tx, id)),
  };
}

/** Defines a job with its whole lifecycle. The feature provides columns, the work itself, and errors. */
export function defineJob<Of extends JobTypes>(declaration: JobDeclaration<Of>) {
  const { contract, failPoints = [] } = declaration;
  const { name } = contract;
  const stored = storedName(contract);
  const { failPoint, names } = jobFailPoints(name);
  const workflowId = (id: string) => jobWorkflowId(contract, id);
  const starting = jobStart(declaration, failPoint);
  const ending = jobEnd(declaration, failPoint);
  return {
    contract,
    workflowId,
    creditKey: (id: string) => creditKey(contract, id),
    ...jobCreation(declaration, failPoint),
    ...starting,
    ...ending,
    ...jobSweeps(declaration, ending),
    ...jobGauges(declaration),

    /** What its feature's part declares of it. */
    declarations: {
      failPoints: [...names, ...failPoints],
      promptKinds: [`${stored}.start`],
    } satisfies Partial<Declarations>,

    /** The requests of this process that wait for such jobs. */
    openWaiters(notifications: Notifications): Waiters {
      const waiters = new Waiters(name);
      notifications.on(waiters.channel, (id) => waiters.notifyLocal(id));
      return waiters;
    },

    outbox: (services: Of['services'] & { temporal: TemporalClient }): OutboxHandlers => ({
      [`${stored}.start`]: (scope, id, hint?: Of['hint']) => starting.start(services, scope, id, hint),
      [`${stored}.cancel`]: (_, id) => services.temporal.cancel(workflowId(id)),
    }),
  };
}
