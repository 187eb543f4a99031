import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { type EffectStatus, openEffect } from '../core/effect-status.ts';
import {
  type Change,
  type EffectKind,
  type EffectType,
  effectTypes,
  type PlannedEffect,
  planEffects,
  typeOf,
} from '../core/effects.ts';

/** The outbox kind of a booking whose workflow is to be started, or signalled a change. */
export const followWork = 'booking.follow';

/** An effect of the latest change of a booking. */
export interface EffectView {
  type: EffectType;
  status: EffectStatus;
  /** Made so far. */
  attempts: number;
  lastError: string | null;
  /** When it is due, or was done. */
  at: Date;
}

/** The facts that the effects of a change depend on, besides the change itself. */
export interface EffectSettings {
  /** 1; less in tests. */
  effectTimeScale: number;
}

// Ended effects of earlier changes are removed: a booking that is moved a thousand times keeps those of one move.
const enqueueStatement = statement({
  name: 'booking.enqueue_effects',
  parameters: { bookingId: 'uuid', version: 'int', rows: 'jsonb', now: 'timestamptz', correlationId: 'text' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with forgotten as (
     delete from booking_effect where organization_id = :organizationId and environment = :environment
       and booking_id = :bookingId
        and version < :version and status not in (${openEffect})),
   planned as (
     insert into booking_effect (booking_id, version, kind, organization_id, environment, status, attempts, facts,
                                 due_at, created_at, updated_at)
     select :bookingId, :version, e.kind, :organizationId, :environment, 'pending', 0, e.facts, e."dueAt", :now,
            :now
       from jsonb_to_recordset(:rows) as e(kind text, "dueAt" timestamptz, facts jsonb)),
   changed as (select :bookingId as id)
   ${enqueueSql(followWork, { subject: 'id', correlation: ':correlationId', from: 'changed' })}
   ${replacingEarlier} returning subject_id as "subjectId", id as "entryId"`,
  enqueues: { [followWork]: (row) => row },
});

/**
 * Writes the effects of a change of a booking, in the transaction of the change. The workflow of the booking performs them
 * after the commit, and no request waits for that.
 * @param booking its UUID, and how often it was changed
 */
export async function enqueueEffects(
  tx: Transaction,
  booking: { id: string; version: number },
  change: Change,
): Promise<EffectView[]> {
  const planned = planEffects(change);
  const rows = JSON.stringify(planned);
  await tx.rows(enqueueStatement, {
    bookingId: booking.id,
    version: booking.version,
    rows,
    now: change.now,
    correlationId: tx.correlationId,
  });
  return viewsOf(planned);
}

/** Effects that were just written. */
export const viewsOf = (planned: readonly PlannedEffect[]): EffectView[] =>
  planned.map(({ kind, dueAt }) => {
    return { type: typeOf(kind), status: 'pending', attempts: 0, lastError: null, at: dueAt };
  });

interface EffectRow extends Omit<EffectView, 'type' | 'at'> {
  bookingId: string;
  kind: EffectKind;
  dueAt: Date;
  updatedAt: Date;
}

const findStatement = statement({
  name: 'booking.effects',
  parameters: { bookingIds: 'uuid[]' },
  row: {
    bookingId: 'uuid',
    kind: typed<EffectKind>('text'),
    status: typed<EffectStatus>('text'),
    attempts: 'int',
    lastError: 'text?',
    dueAt: 'timestamptz',
    updatedAt: 'timestamptz',
  },
  text: `select e.booking_id as "bookingId", e.kind, e.status, e.attempts, e.last_error as "lastError",
          e.due_at as "dueAt", e.updated_at as "updatedAt"
     from booking_effect e join booking b on b.id = e.booking_id
      and e.version = b.reschedule_count + case when b.status = 'cancelled' then 1 else 0 end
    where e.organization_id = :organizationId and e.environment = :environment and e.booking_id = any(:bookingIds)`,
});

const order = (row: EffectRow) => effectTypes.indexOf(typeOf(row.kind));

/** The effects of the latest change of each of these bookings, by the booking's UUID. */
export async function findEffects(scope: Scope, bookingIds: readonly string[]): Promise<Map<string, EffectView[]>> {
  const rows = bookingIds.length === 0 ? [] : await scope.rows(findStatement, { bookingIds });
  const sorted = rows.toSorted((a, b) => order(a) - order(b) || a.dueAt.getTime() - b.dueAt.getTime());
  const found = new Map<string, EffectView[]>(bookingIds.map((id) => [id, []]));
  for (const { bookingId, kind, status, attempts, lastError, dueAt, updatedAt } of sorted) {
    const at = status === 'pending' || status === 'retrying' ? dueAt : updatedAt;
    found.get(bookingId)!.push({ type: typeOf(kind), status, attempts, lastError, at });
  }
  return found;
}
