import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { openRun } from '../core/run-status.ts';
import { findLimit, findStanding, groupLock } from './admission.ts';

const lend = statement({
  name: 'concurrency.lend',
  parameters: { runId: 'uuid', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  enqueues: { 'concurrency.admit': ({ id, entryId }) => ({ subjectId: id, entryId }) },
  text: `with lent as (
     update run set slot = 'lent'
      where organization_id = :organizationId and environment = :environment and id = :runId and slot = 'held'
        and status in (${openRun})
     returning concurrency_group),
   enqueued as (
     ${enqueueSql('concurrency.admit', { subject: 'concurrency_group', correlation: ':correlationId', from: 'lent' })}
     ${replacingEarlier}
     returning id, subject_id)
   select subject_id as id, id as "entryId" from enqueued`,
});

/** Gives the slot of a run to its group while it waits for a run that it started, which may need it. */
export async function lendSlot(scope: Scope, runId: string): Promise<void> {
  await scope.rows(lend, { runId, correlationId: scope.correlationId });
}

const setSlot = statement({
  name: 'concurrency.set_slot',
  parameters: { runId: 'uuid', slot: 'text' },
  text: `update run set slot = :slot
    where organization_id = :organizationId and environment = :environment and id = :runId
      and slot in ('lent', 'returning') and status in (${openRun})`,
});

/**
 * Continues a run that lent its slot. Without a free slot it is the next of its group to get one, and is signalled
 * then.
 * @returns whether it has a slot
 */
export async function takeSlotBack(scope: Scope, runId: string, group: string): Promise<boolean> {
  return scope.transaction(async (tx) => {
    await lockForTransaction(tx, groupLock(group));
    const found = await tx.one(findLimit, { group });
    if (!found) return true;
    const { automationId, concurrency } = found;
    const { held } = (await tx.one(findStanding, { automationId, group, parentRunId: null }))!;
    const isFree = concurrency === null || held < concurrency.limit;
    await tx.rows(setSlot, { runId, slot: isFree ? 'held' : 'returning' });
    return isFree;
  });
}
