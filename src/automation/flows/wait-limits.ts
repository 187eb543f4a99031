import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

const countWaiting = statement({
  name: 'waiting_total.count',
  row: { runs: 'int' },
  text: 'select runs from waiting_total where organization_id = :organizationId and environment = :environment',
});

/** How many runs of a tenant wait. */
export const waitingRuns = async (sql: Pick<Transaction, 'one'>): Promise<number> =>
  (await sql.one(countWaiting))?.runs ?? 0;

const countOpen = statement({
  name: 'approval.count_open_up_to',
  parameters: { max: 'int' },
  row: { count: 'int' },
  text: `
    select count(*)::int as count
      from (select from approval
             where organization_id = :organizationId and environment = :environment and status = 'pending'
             limit :max) open`,
});

/** The numbers of the plan that a write must not exceed. */
export interface WaitLimits {
  /** Absent where the write has no run begin to wait. */
  waitingRuns?: number | undefined;
  /** Absent where the write opens no approval. */
  openApprovals?: number | undefined;
}

/** A write would exceed a number of the plan by so many. */
export class WaitLimitReached extends Error {
  readonly limit: keyof WaitLimits;
  readonly excess: number;

  constructor(limit: keyof WaitLimits, excess: number) {
    super(`There would be ${excess} too many of ${limit}.`);
    this.limit = limit;
    this.excess = excess;
  }
}

/**
 * Counts what the transaction has written, right before its commit. Runs that begin to wait do so one after another from the
 * write of their own row, which updates the total, to the commit: what they have written is counted exactly. Approvals of
 * a run that does not wait itself may exceed their limit by those that are counted at the same moment.
 * @param begun how many approvals it opens
 * @throws WaitLimitReached
 */
export async function enforceWaitLimits(tx: Transaction, limits: WaitLimits, begun: number): Promise<void> {
  if (limits.waitingRuns !== undefined) {
    const excess = (await waitingRuns(tx)) - limits.waitingRuns;
    if (excess > 0) throw new WaitLimitReached('waitingRuns', excess);
  }
  if (limits.openApprovals !== undefined) {
    const { count } = (await tx.one(countOpen, { max: limits.openApprovals + begun }))!;
    if (count > limits.openApprovals) throw new WaitLimitReached('openApprovals', count - limits.openApprovals);
  }
}
