import { reserveCredits } from '../credits/index.ts';
import { findClaim, type IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { concurrencyLimitReached } from '../platform/errors.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { creditKey, storedName } from './core/names.ts';
import type { JobDeclaration, JobTypes } from './declaration.ts';
import type { JobFailPoint } from './fail-points.ts';

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

export function jobCreation<Of extends JobTypes>(
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
