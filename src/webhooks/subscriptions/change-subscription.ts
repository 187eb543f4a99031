import { clock } from '../../platform/clock.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { invalid } from '../../platform/errors.ts';
import { optionNames, type SignatureKind } from '../core/delivery-options.ts';
import { newKeys } from '../dispatch/signing-keys.ts';
import type { WebhookSubscription } from '../entities.ts';
import { failPoint } from '../fail-points.ts';
import { checkSubscription } from './check-subscription.ts';
import { disableSubscription, endDeliveries } from './disable-subscription.ts';
import { checkSameUrl } from './same-url.ts';
import { type SealedColumn, sealedColumn, sealHeaders } from './subscription-secrets.ts';
import {
  type CreatedSubscription,
  lockSubscription,
  type SubscriptionChange,
  type SubscriptionServices,
  shownKeys,
  untried,
  viewOf,
} from './subscriptions.ts';

const fixedEvents = () =>
  invalid([{ path: 'events', message: 'The event of a webhook of an integration cannot be changed.' }]);

/** The requests of an integration's webhook have a form and a signature of their own. @throws AppError validation_error */
function requireFixedOptions(subscription: WebhookSubscription, change: SubscriptionChange): void {
  const changed = optionNames.filter(
    (name) => change[name] !== undefined && change[name] !== (subscription[name] ?? null),
  );
  if (changed.length === 0) return;
  const message = 'A webhook of an integration does not have this field.';
  throw invalid(changed.map((path) => ({ path, message })));
}

/** Creates keys of another kind. The earlier keys no longer sign. @returns the shown part of the new keys */
function replaceKeys(
  { sealer }: Pick<SubscriptionServices, 'sealer'>,
  { tenant }: Scope,
  subscription: WebhookSubscription,
  kind: SignatureKind,
): { secret?: string } {
  const keys = newKeys(kind);
  Object.assign(subscription, {
    publicKey: keys.publicKey,
    sealedSecret: sealer.seal(keys.secret, sealedColumn('sealed_secret', subscription.id, tenant)),
    sealedPreviousSecret: null,
    previousSecretExpiresAt: null,
    sealedOlderSecret: null,
    olderSecretExpiresAt: null,
  });
  return shownKeys(keys);
}

/**
 * Changes the given fields. Turning it on or changing its URL resets its failures; turning it off dead-letters its open
 * deliveries in the same transaction. Another `signature` makes new keys at once: the secret, if there is one, is returned
 * here and nowhere else.
 * @param id in either form
 * @throws AppError not_found, validation_error with paths url, headers.<name>, filter and, for a webhook of an integration, events and
 *   those of its options; SealError
 */
export async function updateSubscription(
  services: SubscriptionServices,
  scope: Scope,
  id: string,
  change: SubscriptionChange,
): Promise<CreatedSubscription> {
  checkSubscription(services.egress, services.webhookBrand, change);
  if (typeof change.filter === 'string') await services.eventFilters.check(scope.tenantKey, change.filter);
  const { tenant } = scope;
  const updated = await scope.transaction(async (tx) => {
    const subscription = await lockSubscription(tx.em, id);
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 0) return viewOf(services, scope, subscription);
    if (subscription.integration !== null) {
      if (change.events) throw fixedEvents();
      requireFixedOptions(subscription, change);
    }
    const { headers, isActive, ...fields } = Object.fromEntries(given) as SubscriptionChange;
    const { isActive: wasActive, events: listenedTo } = subscription;
    const isSignedOtherwise = fields.signature !== undefined && fields.signature !== subscription.signature;
    const isElsewhere = fields.url !== undefined && fields.url !== subscription.url;
    const isFilteredOtherwise = fields.filter !== undefined && fields.filter !== (subscription.filter ?? null);
    const isOrderedOtherwise = fields.ordering !== undefined && fields.ordering !== subscription.ordering;
    Object.assign(subscription, fields, { updatedAt: clock.date() });
    if (isFilteredOtherwise) Object.assign(subscription, { filterErrors: 0 });
    if (isFilteredOtherwise || isOrderedOtherwise) Object.assign(subscription, { rulesChangedAt: clock.date() });
    if (headers) {
      subscription.sealedHeaders = sealHeaders(services.sealer, headers, { id: subscription.id, tenant });
    }
    const shown = isSignedOtherwise ? replaceKeys(services, scope, subscription, subscription.signature) : {};
    if (isElsewhere || isActive) Object.assign(subscription, untried);
    if (isActive) Object.assign(subscription, { isActive, disabledReason: null, disabledAt: null });
    const sendsMore = !wasActive || isElsewhere || fields.events !== undefined;
    if (subscription.isActive && isActive !== false && sendsMore) {
      await lockForTransaction(tx, 'webhooks');
      await checkSameUrl(tx, subscription);
    }
    if (isActive === false) {
      await disableSubscription(tx, subscription.id, null);
      await tx.em.refresh(subscription);
    }
    const facts = { given: given.map(([name]) => name), isActive: subscription.isActive };
    await tx.audit({ action: 'webhook.update', subjectId: subscription.id, facts });
    if (fields.events) await services.listening.changed(tx, [...listenedTo, ...fields.events]);
    return { ...viewOf(services, scope, subscription), ...shown };
  });
  failPoint('subscription.changed');
  return updated;
}

/**
 * Deletes a subscription: no read returns it any more, and its open deliveries and dead letters fail for good. An
 * outbox entry ends their workflows.
 * @param id in either form
 * @throws AppError not_found
 */
export async function deleteSubscription(
  { listening }: Pick<SubscriptionServices, 'listening'>,
  scope: Scope,
  id: string,
): Promise<void> {
  await scope.transaction(async (tx) => {
    const subscription = await lockSubscription(tx.em, id);
    Object.assign(subscription, {
      deletedAt: clock.date(),
      sealedSecret: null,
      sealedPreviousSecret: null,
      sealedOlderSecret: null,
      sealedHeaders: null,
    });
    await endDeliveries(tx, subscription.id);
    await tx.audit({ action: 'webhook.delete', subjectId: subscription.id });
    await listening.changed(tx, subscription.events);
  });
  failPoint('subscription.deleted');
}

const previousSecretMs = 24 * 3_600_000;

interface RotatedSecret {
  /** The subscription's canonical uuid. */
  id: string;
  secret?: string;
  /** With Ed25519, in the place of the secret. */
  publicKey?: string;
  /** Until when the previous secret signs too. */
  previousSecretExpiresAt: Date;
}

/**
 * Gives a subscription a new secret or private key, once per Idempotency-Key. The previous one signs too for a day, so that receivers can
 * be updated one by one; so does the one before it until its own day is over.
 * @param id in either form
 * @throws AppError not_found, idempotency_key_reused; SealError
 */
export async function rotateSecret(
  { sealer }: Pick<SubscriptionServices, 'sealer'>,
  scope: Scope,
  id: string,
  claim?: IdempotencyClaim,
): Promise<Once<RotatedSecret>> {
  const { tenant } = scope;
  const rotate = async (tx: Transaction): Promise<RotatedSecret> => {
    const subscription = await lockSubscription(tx.em, id);
    const place = (column: SealedColumn) => sealedColumn(column, subscription.id, tenant);
    const moved = (sealed: string, from: SealedColumn, to: SealedColumn) =>
      sealer.seal(sealer.open(sealed, place(from)), place(to));
    const { sealedSecret, sealedPreviousSecret, previousSecretExpiresAt: olderSecretExpiresAt } = subscription;
    const older = olderSecretExpiresAt && olderSecretExpiresAt.getTime() > clock.now() ? sealedPreviousSecret : null;
    const { secret, publicKey } = newKeys(subscription.signature);
    const previousSecretExpiresAt = new Date(clock.now() + previousSecretMs);
    Object.assign(subscription, {
      publicKey,
      sealedSecret: sealer.seal(secret, place('sealed_secret')),
      sealedPreviousSecret: moved(sealedSecret!, 'sealed_secret', 'sealed_previous_secret'),
      previousSecretExpiresAt,
      sealedOlderSecret: older ? moved(older, 'sealed_previous_secret', 'sealed_older_secret') : null,
      olderSecretExpiresAt: older ? olderSecretExpiresAt : null,
    });
    await tx.audit({ action: 'webhook.rotate_secret', subjectId: subscription.id });
    const shown = publicKey === null ? { secret } : { publicKey };
    return { id: subscription.id, ...shown, previousSecretExpiresAt };
  };
  return scope.transaction(rotate, { claim, sealer });
}
