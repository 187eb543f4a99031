import type { FindableRows } from '../platform/parts/findable.ts';
import { deliveryWorkflowId, webhookWorkflowId } from '../temporal/contracts/webhooks.ts';
import { deliveryIds, webhookIds } from './core/ids.ts';
import { eventIdOf } from './deliveries/publish-event.ts';

/** What operators find of webhooks. */
export const findableWebhooks: readonly FindableRows[] = [
  {
    kind: 'delivery',
    table: 'delivery',
    ids: [deliveryIds],
    state: 'r.status',
    reason: `coalesce(r.error_class, case when r.status_code >= 300 then 'HTTP ' || r.status_code end)`,
    facts: `jsonb_build_object(
      'webhook', r.subscription_id, 'event', ${eventIdOf('r')}, 'eventType', r.event_type, 'attempts', r.attempts,
      'statusCode', r.status_code, 'nextAttemptAt', r.next_attempt_at, 'createdAt', r.created_at,
      'finishedAt', r.finished_at)`,
    correlation: `(select e.correlation_id from event e where e.id = ${eventIdOf('r')})`,
    // By the webhooks of the tenant: there is no index by event alone.
    byCorrelation: `r.id in (
      select d.id from event e
        join webhook_subscription s on s.organization_id = e.organization_id and s.environment = e.environment
        join delivery d on d.subscription_id = s.id and d.event_id = e.id
       where e.correlation_id = :correlationId
      union all
      select d.id from event e join delivery d on d.resent_event_id = e.id where e.correlation_id = :correlationId)`,
    workflowId: deliveryWorkflowId,
    search: {
      scope: 'webhooks',
      title: 'r.event_type',
      at: 'r.created_at',
      parentId: `'${webhookIds.prefix}_' || replace(r.subscription_id::text, '-', '')`,
      isShown: `exists (select from webhook_subscription s where s.id = r.subscription_id and s.deleted_at is null)`,
      by: {},
    },
  },
  {
    kind: 'webhook',
    table: 'webhook_subscription',
    ids: [webhookIds],
    state: `case when r.deleted_at is not null then 'deleted' when r.is_active then 'active' else 'off' end`,
    reason: `coalesce(r.disabled_reason, r.last_failure)`,
    facts: `jsonb_build_object(
      'integration', r.integration, 'consecutiveFailures', r.consecutive_failures, 'failingSince', r.failing_since,
      'lastFailedAt', r.last_failed_at, 'nextProbeAt', r.next_probe_at, 'createdAt', r.created_at)`,
    correlation: null,
    workflowId: webhookWorkflowId,
    search: { scope: 'webhooks', title: 'r.name', at: 'r.created_at', isShown: 'r.deleted_at is null', by: {} },
  },
];
