import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from '../../platform/database/database.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { limitsOf } from '../../tenancy/core/limits.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import type { RateLimits } from '../../tenancy/core/rate-windows.ts';
import { workflowIds } from '../core/ids.ts';
import { lockAutomation } from '../definitions/automations.ts';
import { workflowNotFound } from '../errors.ts';

/**
 * As strong as a key: 32 random bytes, of which only the hash is stored. Older secrets have the prefix `whsec_` of
 * webhooks and stay valid until they are rotated.
 */
const newSecret = () => `trg_${randomBytes(32).toString('base64url')}`;
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Compared with for workflows that are unknown or have no secret, so that they take as long as others. */
const nothing = Buffer.alloc(32);

const matches = (secret: string, hash: Buffer | null | undefined): boolean =>
  timingSafeEqual(hashOf(secret), hash ?? nothing) && hash != null;

export const wrongSecret = () =>
  new AppError('unauthorized', 'The webhook secret is not valid.', { reason: 'invalid_api_key' });

/**
 * Gives a workflow a new webhook secret. The old one is invalid from the same commit on.
 * @returns the secret, which is shown once; only a repetition of this request gets it again, from a sealed copy
 * @throws AppError workflow_not_found, idempotency_key_reused
 */
export async function rotateTriggerSecret(
  scope: Scope,
  sealer: Sealer,
  id: string,
  claim: IdempotencyClaim | undefined,
): Promise<{ secret: string; replayed: boolean }> {
  const rotate = async (tx: Transaction) => {
    const secret = newSecret();
    const automation = await lockAutomation(tx.em, id);
    automation.triggerSecretHash = hashOf(secret);
    await tx.audit({ action: 'workflow.rotate_secret', subjectId: automation.id });
    return { id: automation.id, secret };
  };
  const { outcome, replayed } = await scope.transaction(rotate, { claim, sealer });
  return { secret: outcome.secret, replayed };
}

const findGuarded = systemStatement({
  name: 'trigger.by_id',
  parameters: { id: 'uuid' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    hash: 'bytea?',
    plan: typed<PlanName>('text'),
    rateMinute: 'int?',
    rateDay: 'int?',
  },
  text: `select a.id, a.organization_id as "organizationId", a.environment, a.trigger_secret_hash as hash, o.plan,
          o.rate_minute as "rateMinute", o.rate_day as "rateDay"
     from automation a join organization o on o.id = a.organization_id
    where a.id = :id and a.deleted_at is null and o.deleted_at is null`,
});

/** The tenant whose workflow is started with its secret, and the limits in which such requests count. */
export interface Triggered {
  tenant: Tenant;
  limits: RateLimits;
}

/**
 * Finds the workflow of a secret across all tenants: the secret authenticates the request, as a key does. The failure is
 * the same for a wrong secret and an unknown workflow.
 * @throws AppError unauthorized
 */
export async function authenticateTrigger(database: Database, id: string, secret: string): Promise<Triggered> {
  const uuid = workflowIds.parse(id);
  const found = uuid ? await sqlOn(database.pool).one(findGuarded, { id: uuid }) : undefined;
  if (!matches(secret, found?.hash) || !found) throw wrongSecret();
  const { organizationId, environment } = found;
  return { tenant: { organizationId, environment }, limits: limitsOf(found.plan, found) };
}

const findHash = statement({
  name: 'trigger.hash',
  parameters: { id: 'uuid' },
  row: { hash: 'bytea?' },
  text: `select trigger_secret_hash as hash from automation
    where organization_id = :organizationId and environment = :environment and id = :id and deleted_at is null`,
});

/** Checks a secret that is sent together with a key. @throws AppError workflow_not_found, unauthorized */
export async function checkTriggerSecret(scope: Scope, id: string, secret: string): Promise<void> {
  const uuid = workflowIds.parse(id);
  const found = uuid && (await scope.one(findHash, { id: uuid }));
  if (!found) throw workflowNotFound(id);
  if (!matches(secret, found.hash)) throw wrongSecret();
}
