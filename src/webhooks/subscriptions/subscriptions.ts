import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { clock } from '../../platform/clock.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import { newId } from '../../platform/ids.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { enforceLimit } from '../../tenancy/index.ts';
import type { EventFilters } from '../addressing/filters.ts';
import type { DeliveryOptions, Ordering, PayloadForm, SignatureKind } from '../core/delivery-options.ts';
import { webhookIds } from '../core/ids.ts';
import { webhookLimits } from '../core/limits.ts';
import { newKeys, type SigningKeys } from '../dispatch/signing-keys.ts';
import { WebhookSubscription } from '../entities.ts';
import { webhookNotFound } from '../errors.ts';
import { recordEvents } from '../events/recording.ts';
import { checkSubscription } from './check-subscription.ts';
import type { OffReason } from './disable-subscription.ts';
import { checkSameUrl } from './same-url.ts';
import type { SubscribedTypes } from './subscribed-types.ts';
import { type Headers, openHeaders, sealedColumn, sealHeaders } from './subscription-secrets.ts';

const countWebhooks = statement({
  name: 'plan_limit.webhooks',
  row: { plan: typed<PlanName>('text'), count: 'int' },
  text: `select o.plan, (select count(*)::int from webhook_subscription
                    where organization_id = :organizationId and environment = :environment
                      and deleted_at is null) as count
     from organization o where o.id = :organizationId`,
});

/**
 * Whether the plan includes one more webhook, of whichever kind. Transactions of a tenant that ask run one after another.
 * @throws AppError forbidden
 */
async function enforcePlanLimit(tx: Transaction): Promise<void> {
  await lockForTransaction(tx, 'webhooks');
  enforceLimit(webhookLimits.webhooks, (await tx.one(countWebhooks))!, 'webhooks');
}

export interface SubscriptionServices {
  eventFilters: Pick<EventFilters, 'check'>;
  egress: Pick<Egress, 'checkDestination'>;
  sealer: Sealer;
  /** The brand in the signature headers of family A: `X-<brand>-Signature`. */
  webhookBrand: string;
  listening: Pick<SubscribedTypes, 'changed'>;
}

interface NewSubscription extends DeliveryOptions {
  name: string;
  url: string;
  /** Event types, or `*`. */
  events: string[];
  isActive: boolean;
  maxAttempts: number;
  headers: Headers;
  /** Attempts a minute; null for no limit. */
  rateLimit: number | null;
  concurrency: number;
}

/** The fields of an integration's webhook besides those of all webhooks. */
interface IntegrationWebhook {
  integration: string;
  /** Chosen by its owner, or generated if it is absent. */
  secret?: string | undefined;
}

export type SubscriptionChange = { [Field in keyof NewSubscription]?: NewSubscription[Field] | undefined };

export interface Subscription extends NewSubscription {
  id: string;
  /** How often its filter failed since it was given. */
  filterErrors: number;
  /** With Ed25519: of the key that signs. */
  publicKey: string | null;
  disabledReason: OffReason;
  createdAt: Date;
  updatedAt: Date;
}

/** A stored row. Nullable columns may be missing. */
type SubscriptionRow = Omit<Subscription, 'headers' | 'rateLimit' | 'filter' | 'publicKey' | 'disabledReason'> & {
  [Column in 'sealedHeaders' | 'filter' | 'publicKey' | 'disabledReason']?: string | null | undefined;
} & { rateLimit?: number | null | undefined };

export const defaultConcurrency = 8;

/** The failure state of a new subscription, and of a repaired one or one with a new URL. */
export const untried = {
  consecutiveFailures: 0,
  nextProbeAt: null,
  failingSince: null,
  lastFailedAt: null,
  lastFailure: null,
};

export function viewOf(
  { sealer }: Pick<SubscriptionServices, 'sealer'>,
  { tenant }: Scope,
  row: SubscriptionRow,
): Subscription {
  const { id, name, url, events, isActive, maxAttempts, rateLimit, concurrency, createdAt, updatedAt } = row;
  const { payload, signature, ordering, filterErrors } = row;
  return {
    id,
    name,
    url,
    events,
    isActive,
    maxAttempts,
    headers: openHeaders(sealer, row.sealedHeaders ?? null, { id, tenant }),
    rateLimit: rateLimit ?? null,
    concurrency,
    filter: row.filter ?? null,
    filterErrors,
    payload,
    signature,
    ordering,
    publicKey: row.publicKey ?? null,
    disabledReason: (row.disabledReason ?? null) as OffReason,
    createdAt,
    updatedAt,
  };
}

export interface CreatedSubscription extends Subscription {
  /** Absent with Ed25519. */
  secret?: string;
}

/** The shown part of new keys: the secret, or the public key, which every view has. */
export const shownKeys = ({ secret, publicKey }: SigningKeys): { secret?: string } =>
  publicKey === null ? { secret } : {};

/**
 * Creates a subscription, once per Idempotency-Key. Its secret, if it has one, is returned here and nowhere else, except when
 * this request is repeated.
 * @throws AppError validation_error with paths url, headers.<name> and filter, forbidden, idempotency_key_reused; SealError
 */
export async function createSubscription(
  services: SubscriptionServices,
  scope: Scope,
  input: NewSubscription,
  claim?: IdempotencyClaim,
  of?: IntegrationWebhook,
): Promise<Once<CreatedSubscription>> {
  checkSubscription(services.egress, services.webhookBrand, input);
  if (input.filter !== null) await services.eventFilters.check(scope.tenantKey, input.filter);
  const { sealer } = services;
  const { tenant } = scope;
  const create = async (tx: Transaction) => {
    await enforcePlanLimit(tx);
    const { headers, ...fields } = input;
    const id = newId();
    if (fields.isActive) await checkSameUrl(tx, { id, ...fields });
    const now = clock.date();
    const keys = of?.secret === undefined ? newKeys(fields.signature) : { secret: of.secret, publicKey: null };
    const made = tx.em.create(WebhookSubscription, {
      id,
      ...tenant,
      ...fields,
      ...untried,
      filterErrors: 0,
      rulesChangedAt: null,
      integration: of?.integration ?? null,
      disabledReason: null,
      disabledAt: fields.isActive ? null : now,
      sealedHeaders: sealHeaders(sealer, headers, { id, tenant }),
      sealedSecret: sealer.seal(keys.secret, sealedColumn('sealed_secret', id, tenant)),
      publicKey: keys.publicKey,
      sealedPreviousSecret: null,
      previousSecretExpiresAt: null,
      sealedOlderSecret: null,
      olderSecretExpiresAt: null,
      rateFreeAt: null,
      recoverableFrom: null,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    });
    tx.em.persist(made);
    const facts = { events: fields.events, isActive: fields.isActive };
    await tx.audit({ action: 'webhook.create', subjectId: id, facts });
    await services.listening.changed(tx, fields.events);
    await recordEvents(tx);
    return { ...viewOf(services, scope, made), ...shownKeys(keys) };
  };
  return scope.transaction(create, { claim, sealer });
}

const live =
  'from webhook_subscription where organization_id = :organizationId and environment = :environment and deleted_at is null';
const columns = `id, name, url, events, is_active as "isActive", max_attempts as "maxAttempts",
  sealed_headers as "sealedHeaders", rate_limit as "rateLimit", concurrency, filter, filter_errors as "filterErrors", payload, signature, ordering, public_key as "publicKey", disabled_reason as "disabledReason",
  created_at as "createdAt", updated_at as "updatedAt"`;

const subscriptionRowColumns = {
  id: 'uuid',
  name: 'text',
  url: 'text',
  events: typed<string[]>('jsonb'),
  isActive: 'boolean',
  maxAttempts: 'int',
  sealedHeaders: 'text?',
  rateLimit: 'int?',
  concurrency: 'int',
  filter: 'text?',
  filterErrors: 'int',
  payload: typed<PayloadForm>('text'),
  signature: typed<SignatureKind>('text'),
  ordering: typed<Ordering>('text'),
  publicKey: 'text?',
  disabledReason: 'text?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const;

const listPage = statement({
  name: 'subscription.list',
  parameters: { limit: 'int', offset: 'bigint' },
  row: subscriptionRowColumns,
  text: `select ${columns} ${live} and integration is null order by created_at desc, id desc
    limit :limit offset :offset`,
});
const countAll = statement({
  name: 'subscription.count_live',
  row: { count: 'int' },
  text: `select count(*)::int as count ${live} and integration is null`,
});

/** Newest first, without webhooks of integrations. @throws SealError */
export async function listSubscriptions(
  services: Pick<SubscriptionServices, 'sealer'>,
  scope: Scope,
  { limit, offset }: PageRequest,
): Promise<Page<Subscription>> {
  const [rows, counted] = await Promise.all([scope.rows(listPage, { limit, offset }), scope.one(countAll)]);
  return { items: rows.map((row) => viewOf(services, scope, row)), total: counted!.count, limit, offset };
}

const findOne = statement({
  name: 'subscription.by_id',
  parameters: { id: 'uuid' },
  row: subscriptionRowColumns,
  text: `select ${columns} ${live} and id = :id`,
});

/** `id` in either form. @throws AppError not_found; SealError */
export async function getSubscription(
  services: Pick<SubscriptionServices, 'sealer'>,
  scope: Scope,
  id: string,
): Promise<Subscription> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(findOne, { id: uuid }));
  if (!found) throw webhookNotFound(id);
  return viewOf(services, scope, found);
}

/** Locks the row, so that concurrent changes are applied one after the other. @throws AppError not_found */
export async function lockSubscription(em: EntityManager, id: string): Promise<WebhookSubscription> {
  const uuid = webhookIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const found = uuid && (await em.findOne(WebhookSubscription, { id: uuid, deletedAt: null }, { lockMode }));
  if (!found) throw webhookNotFound(id);
  return found;
}
