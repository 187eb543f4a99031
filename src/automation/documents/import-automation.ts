import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import type { WorkflowWarning } from '../core/step-references.ts';
import { type AutomationDetail, insertAutomation, type NewAutomation } from '../definitions/automations.ts';
import { type CheckServices, checkAutomation } from '../definitions/check-automation.ts';
import { checkTriggers, type NewTrigger, type TriggerServices, writeTriggers } from '../events/triggers.ts';
import { checkSchedule, type NewSchedule, writeSchedule } from '../schedules/schedules.ts';

/** A document whose names were resolved. */
export interface ImportedDocument {
  workflow: NewAutomation;
  triggers: readonly NewTrigger[];
  schedule: NewSchedule | null;
}

/**
 * Creates a workflow with its triggers and its schedule, all of them or none, once per Idempotency-Key.
 * @throws AppError validation_error, idempotency_key_reused, forbidden when the plan includes no more of one of them
 */
export async function importAutomation(
  services: CheckServices & TriggerServices,
  scope: Scope,
  { workflow, triggers, schedule }: ImportedDocument,
  claim?: IdempotencyClaim,
): Promise<Once<AutomationDetail> & { warnings: WorkflowWarning[] }> {
  const warnings = await checkAutomation(services, scope, workflow);
  await checkTriggers(services.boundedWork, scope.tenantKey, triggers);
  if (schedule) checkSchedule(schedule, workflow.inputs);
  const insert = async (tx: Transaction) => {
    const made = await insertAutomation(tx, workflow);
    if (triggers.length > 0) await writeTriggers(services, tx, made.id, triggers);
    if (schedule) await writeSchedule(tx, made.id, schedule);
    return made;
  };
  return { ...(await scope.transaction(insert, { claim })), warnings };
}
