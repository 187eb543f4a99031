import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import { patternIds } from '../core/ids.ts';
import type { PatternKind } from '../core/rules.ts';
import { RecurringPattern } from '../entities.ts';
import { patternNotFound } from '../errors.ts';
import { enforcePlanLimit } from '../plan-limits.ts';

interface PatternFields {
  name: string;
  pattern: PatternKind;
  interval: number;
  /** 0 is Sunday. Null: as the start date says. */
  daysOfWeek: number[] | null;
  /** `HH:MM` of the host's clock. */
  timeStart: string;
  timeEnd: string;
  /** `YYYY-MM-DD`; the last day is included. */
  startDate: string;
  endDate: string | null;
  blockType: string;
}

export interface PatternView extends PatternFields {
  id: string;
  createdAt: Date;
}

const viewOf = (row: RecurringPattern): PatternView => ({
  id: row.id,
  name: row.name,
  pattern: row.pattern,
  interval: row.interval,
  daysOfWeek: row.daysOfWeek ?? null,
  timeStart: row.timeStart,
  timeEnd: row.timeEnd,
  startDate: row.startDate,
  endDate: row.endDate ?? null,
  blockType: row.blockType,
  createdAt: row.createdAt,
});

/** Creates a pattern, once per Idempotency-Key. @throws AppError forbidden when the plan includes no more */
export function createPattern(
  scope: Scope,
  fields: PatternFields,
  claim?: IdempotencyClaim,
): Promise<Once<PatternView>> {
  const create = async (tx: Transaction) => {
    await enforcePlanLimit(tx, 'recurringPatterns');
    const made = tx.em.create(RecurringPattern, { id: newId(), ...scope.tenant, ...fields, createdAt: clock.date() });
    tx.em.persist(made);
    await tx.audit({ action: 'recurring_pattern.create', subjectId: made.id });
    return viewOf(made);
  };
  return scope.transaction(create, { claim });
}

/** Newest first; the plan limits how many there are. */
export async function listPatterns(scope: Scope): Promise<PatternView[]> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  return (await scope.read((em) => em.find(RecurringPattern, {}, { orderBy }))).map(viewOf);
}

/** @param id in either form. @throws AppError not_found */
export async function getPattern(scope: Scope, id: string): Promise<PatternView> {
  const uuid = patternIds.parse(id);
  const found = uuid && (await scope.read((em) => em.findOne(RecurringPattern, { id: uuid })));
  if (!found) throw patternNotFound(id);
  return viewOf(found);
}

/** @throws AppError not_found */
export function deletePattern(scope: Scope, id: string): Promise<void> {
  return scope.transaction(async (tx) => {
    const uuid = patternIds.parse(id);
    const deleted = uuid ? await tx.em.nativeDelete(RecurringPattern, { id: uuid }) : 0;
    if (!uuid || deleted === 0) throw patternNotFound(id);
    await tx.audit({ action: 'recurring_pattern.delete', subjectId: uuid });
  });
}
