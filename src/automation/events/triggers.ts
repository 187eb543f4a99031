import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { clock } from '../../platform/clock.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type FieldError, invalid, unavailable } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { enforceLimit } from '../../tenancy/index.ts';
import { recordEvents, type WebhookServices } from '../../webhooks/index.ts';
import { checkExpression } from '../bounded/bounded-tasks.ts';
import { type ExpressionKind, findLengthProblem } from '../core/expression.ts';
import { workflowIds } from '../core/ids.ts';
import { automationLimits } from '../core/limits.ts';
import { lockAutomation } from '../definitions/automations.ts';
import { workflowNotFound } from '../errors.ts';
import { EventTrigger } from './entities.ts';

export interface NewTrigger {
  /** The name of the events. */
  event: string;
  /** A CEL expression over the event; without it, every event of the name starts a run. */
  filter?: string | undefined;
  /** The variables of the run, each a CEL expression over the event. */
  inputs?: Record<string, string> | undefined;
}

export interface Trigger {
  event: string;
  filter: string | null;
  inputs: Record<string, string> | null;
  lastFiredAt: Date | null;
  /** The last time at which a matching event started no run, and a code that says why. */
  lastSkipped: { at: Date; reason: string } | null;
}

export interface TriggerServices extends Pick<WebhookServices, 'listening'> {
  boundedWork: BoundedWork;
}

const viewOf = ({
  event,
  filter,
  inputs,
  lastFiredAt,
  lastSkippedAt: at,
  lastSkippedReason,
}: EventTrigger): Trigger => ({
  event,
  filter: filter ?? null,
  inputs: inputs ?? null,
  lastFiredAt: lastFiredAt ?? null,
  lastSkipped: at ? { at, reason: lastSkippedReason ?? '' } : null,
});

async function findProblem(
  work: BoundedWork,
  tenantKey: TenantKey,
  source: string,
  kind: ExpressionKind,
): Promise<string | undefined> {
  if (source.trim() === '') return 'Expected an expression.';
  const tooLong = findLengthProblem(source);
  if (tooLong) return tooLong;
  try {
    const checked = await work.run(checkExpression, tenantKey, { source, kind });
    return 'problem' in checked ? checked.problem : undefined;
  } catch (error) {
    if (error instanceof WorkTooCostly) return `The expression is too costly: ${error.message}`;
    if (error instanceof WorkQueueFull) throw unavailable('Checking triggers');
    throw error;
  }
}

/** @throws AppError validation_error with the paths of what is wrong */
export async function checkTriggers(
  work: BoundedWork,
  tenantKey: TenantKey,
  triggers: readonly NewTrigger[],
): Promise<void> {
  const problems: FieldError[] = [];
  for (const [index, { filter, inputs = {} }] of triggers.entries()) {
    const expressions: [string, string | undefined, ExpressionKind][] = [
      ['filter', filter, 'filter'],
      ...Object.entries(inputs).map(([name, source]): [string, string, ExpressionKind] => [
        `inputs.${name}`,
        source,
        'event_value',
      ]),
    ];
    for (const [path, source, kind] of expressions) {
      const message = source === undefined ? undefined : await findProblem(work, tenantKey, source, kind);
      if (message) problems.push({ path: `triggers.${index}.${path}`, message });
    }
  }
  if (problems.length > 0) throw invalid(problems);
}

const countOthers = statement({
  name: 'plan_room.triggers',
  parameters: { automationId: 'uuid' },
  row: { plan: typed<PlanName>('text'), count: 'int' },
  text: `select o.plan, (select count(*)::int from event_trigger
                    where organization_id = :organizationId and environment = :environment and automation_id <> :automationId) as count
     from organization o where o.id = :organizationId`,
});

/** @throws AppError forbidden */
async function enforceTriggerLimit(tx: Transaction, automationId: string, added: number): Promise<void> {
  const use = (await tx.one(countOthers, { automationId }))!;
  if (added > 0) enforceLimit(automationLimits.triggers, use, 'triggers', added);
}

const keyOf = ({ event, filter, inputs }: NewTrigger | EventTrigger) =>
  JSON.stringify([event, filter ?? null, Object.entries(inputs ?? {})]);

/**
 * Replaces the triggers of a workflow with other checked triggers. An unchanged trigger keeps its recorded facts.
 * @throws AppError workflow_not_found, forbidden when the plan includes fewer
 */
export async function writeTriggers(
  { listening }: Pick<TriggerServices, 'listening'>,
  tx: Transaction,
  id: string,
  triggers: readonly NewTrigger[],
): Promise<Trigger[]> {
  await lockForTransaction(tx, 'triggers');
  const automation = await lockAutomation(tx.em, id);
  await enforceTriggerLimit(tx, automation.id, triggers.length);
  const existing = await tx.em.find(EventTrigger, { automationId: automation.id }, { orderBy: { position: 'asc' } });
  const left = [...existing];
  const written = triggers.map((trigger, position) => {
    const at = left.findIndex((one) => keyOf(one) === keyOf(trigger));
    const kept = at >= 0 ? left.splice(at, 1)[0]! : undefined;
    if (kept) return Object.assign(kept, { position });
    const { event, filter = null, inputs = null } = trigger;
    const never = { lastFiredAt: null, lastSkippedAt: null, lastSkippedReason: null };
    const row = { id: newId(), ...tx.tenant, automationId: automation.id, position, event, filter, inputs, ...never };
    const made = tx.em.create(EventTrigger, { ...row, createdAt: clock.date() });
    tx.em.persist(made);
    return made;
  });
  for (const one of left) tx.em.remove(one);
  await listening.changed(tx, [...new Set([...left, ...written].map(({ event }) => event))]);
  if (written.length > 0) await recordEvents(tx);
  await tx.audit({ action: 'workflow.put_triggers', subjectId: automation.id });
  return written.map(viewOf);
}

/**
 * Replaces the triggers of a workflow.
 * @param triggers at most 10
 * @throws AppError workflow_not_found, validation_error, forbidden when the plan includes fewer
 */
export async function putTriggers(
  services: TriggerServices,
  scope: Scope,
  id: string,
  triggers: readonly NewTrigger[],
): Promise<Trigger[]> {
  await checkTriggers(services.boundedWork, scope.tenantKey, triggers);
  return scope.transaction((tx) => writeTriggers(services, tx, id, triggers));
}

const findLive = statement({
  name: 'trigger.automation',
  parameters: { automationId: 'uuid' },
  row: { id: 'uuid' },
  text: 'select id from automation where organization_id = :organizationId and environment = :environment and id = :automationId and deleted_at is null',
  sharesConnection: true,
});

/** @throws AppError workflow_not_found */
export async function getTriggers(scope: Scope, id: string): Promise<Trigger[]> {
  const automationId = workflowIds.parse(id);
  if (!automationId || !(await scope.one(findLive, { automationId }))) throw workflowNotFound(id);
  const triggers = await scope.read((em) => em.find(EventTrigger, { automationId }, { orderBy: { position: 'asc' } }));
  return triggers.map(viewOf);
}
