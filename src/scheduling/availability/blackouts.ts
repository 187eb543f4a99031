import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import { blackoutIds } from '../core/ids.ts';
import { readInstant } from '../core/read-times.ts';
import { BlackoutPeriod } from '../entities.ts';
import { blackoutNotFound } from '../errors.ts';
import { keepNamedHosts } from '../hosts.ts';
import { enforceListSize, enforcePlanLimit } from '../plan-limits.ts';

interface BlackoutFields {
  name: string;
  /** Dates when it is of whole days, the last one included; otherwise instants. */
  start: string;
  end: string;
  allDay: boolean;
  /** Every year from its own on. */
  recurring: boolean;
  reason: string | null;
  /** UUID, or in either form as input. Null: all hosts. */
  hostId: string | null;
}

export interface BlackoutView extends BlackoutFields {
  id: string;
  createdAt: Date;
}

const viewOf = ({ reason, hostId, ...row }: BlackoutPeriod): BlackoutView => ({
  id: row.id,
  name: row.name,
  start: row.start,
  end: row.end,
  allDay: row.allDay,
  recurring: row.recurring,
  reason: reason ?? null,
  hostId: hostId ?? null,
  createdAt: row.createdAt,
});

/** Dates as they are; instants in UTC. */
const written = (moment: string, allDay: boolean) => (allDay ? moment : new Date(readInstant(moment)!).toISOString());

/**
 * Creates a blackout period, once per Idempotency-Key.
 * @throws AppError validation_error with path hostId for an unknown host, forbidden when the plan includes no more,
 *   conflict when the list would be too long
 */
export function createBlackout(
  scope: Scope,
  fields: BlackoutFields,
  claim?: IdempotencyClaim,
): Promise<Once<BlackoutView>> {
  const create = async (tx: Transaction) => {
    await enforcePlanLimit(tx, 'blackoutPeriods');
    const [start, end] = [written(fields.start, fields.allDay), written(fields.end, fields.allDay)];
    const named = fields.hostId;
    const hostId = named === null ? null : (await keepNamedHosts(tx, [{ hostId: named, path: 'hostId' }])).get(named)!;
    const made = tx.em.create(BlackoutPeriod, {
      ...fields,
      ...scope.tenant,
      id: newId(),
      start,
      end,
      hostId,
      createdAt: clock.date(),
    });
    tx.em.persist(made);
    await enforceListSize(tx, 'blackoutPeriods');
    await tx.audit({ action: 'blackout_period.create', subjectId: made.id });
    return viewOf(made);
  };
  return scope.transaction(create, { claim });
}

/** Newest first; the plan limits how many there are. */
export async function listBlackouts(scope: Scope): Promise<BlackoutView[]> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  return (await scope.read((em) => em.find(BlackoutPeriod, {}, { orderBy }))).map(viewOf);
}

/** @param id in either form. @throws AppError not_found */
export async function getBlackout(scope: Scope, id: string): Promise<BlackoutView> {
  const uuid = blackoutIds.parse(id);
  const found = uuid && (await scope.read((em) => em.findOne(BlackoutPeriod, { id: uuid })));
  if (!found) throw blackoutNotFound(id);
  return viewOf(found);
}

/** @throws AppError not_found */
export function deleteBlackout(scope: Scope, id: string): Promise<void> {
  return scope.transaction(async (tx) => {
    const uuid = blackoutIds.parse(id);
    const deleted = uuid ? await tx.em.nativeDelete(BlackoutPeriod, { id: uuid }) : 0;
    if (!uuid || deleted === 0) throw blackoutNotFound(id);
    await tx.audit({ action: 'blackout_period.delete', subjectId: uuid });
  });
}
