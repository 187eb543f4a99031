import type { IdempotencyClaim, Once } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { defaultOptions } from '../webhooks/core/delivery-options.ts';
import { webhookIds } from '../webhooks/core/ids.ts';
import { defaultMaxAttempts } from '../webhooks/core/retry-schedule.ts';
import {
  createSubscription,
  defaultConcurrency,
  deleteSubscription,
  type SubscriptionServices,
} from '../webhooks/index.ts';
import type { Integration } from './definition/integration.ts';
import { triggerType } from './trigger-events.ts';

/** A webhook that gets one event of one integration. */
export interface IntegrationWebhook {
  /** UUID. */
  id: string;
  /** The trigger's name: `message_received`. */
  event: string;
  url: string;
  isActive: boolean;
  createdAt: Date;
}

export interface NewIntegrationWebhook {
  /** The trigger's name, or the whole name of its event. */
  event: string;
  url: string;
  /** Generated if it is absent. */
  secret?: string | undefined;
}

/** The trigger that a caller names, in its short or its whole form. @throws AppError validation_error at `event` */
function triggerOf(integration: Integration, event: string): string {
  const prefix = triggerType(integration, '');
  const trigger = event.startsWith(prefix) ? event.slice(prefix.length) : event;
  if (Object.hasOwn(integration.triggers, trigger)) return trigger;
  const names = Object.keys(integration.triggers).join(', ');
  throw invalid([{ path: 'event', message: `Expected one of ${names}.` }]);
}

/**
 * Creates a webhook for an event of an integration, which need not be connected. Once per Idempotency-Key.
 * @throws AppError validation_error with paths event and url, forbidden, idempotency_key_reused; SealError
 */
export async function createIntegrationWebhook(
  services: SubscriptionServices,
  scope: Scope,
  integration: Integration,
  { event, url, secret }: NewIntegrationWebhook,
  claim?: IdempotencyClaim,
): Promise<Once<IntegrationWebhook & { secret: string }>> {
  const trigger = triggerOf(integration, event);
  const usual = { isActive: true, maxAttempts: defaultMaxAttempts, headers: {}, rateLimit: null };
  const input = {
    ...usual,
    ...defaultOptions,
    url,
    name: integration.name,
    concurrency: defaultConcurrency,
    events: [triggerType(integration, trigger)],
  };
  const of = { integration: integration.id, secret };
  const { outcome, replayed } = await createSubscription(services, scope, input, claim, of);
  const { id, isActive, createdAt } = outcome;
  return { outcome: { id, event: trigger, url: outcome.url, isActive, createdAt, secret: outcome.secret! }, replayed };
}

const ofIntegration = `from webhook_subscription
    where organization_id = :organizationId and environment = :environment and deleted_at is null and integration = :integration`;

const list = statement({
  name: 'integration.webhooks',
  parameters: { integration: 'text' },
  row: { id: 'uuid', events: typed<string[]>('jsonb'), url: 'text', isActive: 'boolean', createdAt: 'timestamptz' },
  text: `select id, events, url, is_active as "isActive", created_at as "createdAt" ${ofIntegration}
    order by created_at desc, id desc`,
});

/** All of an integration, newest first. The plan limits how many there are. */
export async function listIntegrationWebhooks(scope: Scope, integration: Integration): Promise<IntegrationWebhook[]> {
  const rows = await scope.rows(list, { integration: integration.id });
  return rows.map(({ events: [type], ...row }) => ({
    ...row,
    event: type!.slice(triggerType(integration, '').length),
  }));
}

const find = statement({
  name: 'integration.webhook',
  parameters: { integration: 'text', id: 'uuid' },
  row: { id: 'uuid' },
  text: `select id ${ofIntegration} and id = :id`,
});

/** @param id in either form @throws AppError not_found, also for a webhook that is not the integration's */
export async function deleteIntegrationWebhook(
  services: Pick<SubscriptionServices, 'listening'>,
  scope: Scope,
  integration: Integration,
  id: string,
): Promise<void> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(find, { integration: integration.id, id: uuid }));
  if (!found) throw new AppError('not_found', 'No webhook of the integration has this id.', { webhookId: id });
  await deleteSubscription(services, scope, uuid);
}
