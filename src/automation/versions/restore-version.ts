import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { findChanges } from '../core/definition-changes.ts';
import { definitionOf } from '../core/definition-fields.ts';
import type { Step } from '../core/step-types.ts';
import { addDefinition, lockAutomation } from '../definitions/automations.ts';
import { type CheckServices, checkAutomation } from '../definitions/check-automation.ts';
import { Definition } from '../entities.ts';
import { getVersion, type VersionDetail } from './versions.ts';

/**
 * Makes an earlier version the current one again, once per Idempotency-Key: as a new version, because versions never
 * change.
 * @param mayBring throws where the caller may not save these steps
 * @throws AppError workflow_not_found; not_found; idempotency_key_reused; validation_error where it could not be saved today
 */
export async function restoreVersion(
  services: CheckServices,
  scope: Scope,
  id: string,
  version: number,
  mayBring: (steps: readonly Step[]) => void,
  claim?: IdempotencyClaim,
): Promise<Once<VersionDetail>> {
  const { definition: restored } = await getVersion(scope, id, version);
  mayBring(restored.steps);
  await checkAutomation(services, scope, restored);
  const restore = async (tx: Transaction): Promise<VersionDetail> => {
    const automation = await lockAutomation(tx.em, id);
    const current = await tx.em.findOneOrFail(Definition, { id: automation.definitionId });
    const added = await addDefinition(tx, automation.id, restored, {
      version: current.version + 1,
      changes: findChanges(definitionOf(current), definitionOf(restored)),
    });
    automation.definitionId = added.id;
    automation.updatedAt = clock.date();
    const facts = { restored: version, version: added.version, definitionId: added.id };
    await tx.audit({ action: 'workflow.restore', subjectId: automation.id, facts });
    const { createdAt, createdBy = null } = added;
    return { version: added.version, createdAt, createdBy, definition: restored };
  };
  return scope.transaction(restore, { claim });
}
