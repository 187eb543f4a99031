import type { Database } from '../platform/database.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { DeliverWebhookArgs, DeliveryProgress } from '../temporal/contracts/webhooks.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/fairness.ts';
import { type DeliveryStatus, openDelivery } from './core/delivery-status.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { resumeDelivery, resumeDeliveryIfOpen, startDelivery } from './delivery-starts.ts';
import { failPoint } from './fail-points.ts';
import { eventOf } from './publish-event.ts';

export interface DeliveryWorkflowServices {
  temporal: TemporalClient;
  deliveryPolicy: DeliveryPolicy;
}

interface DeliveryWorkflowRow {
  status: DeliveryStatus;
  attempts: number;
  statusCode: number | null;
  errorClass: string | null;
  /** Until its next attempt; 0 when none is scheduled. */
  waitMs: number;
  subscriptionId: string;
  eventType: string;
  correlationId: string;
  plan: PlanName;
  readAt: string;
}

const findDelivery = statement<DeliveryWorkflowRow>(
  'delivery.followed',
  `select d.status, d.attempts, d.status_code as "statusCode", d.error_class as "errorClass",
          greatest(0, round(extract(epoch from d.next_attempt_at - clock_timestamp()) * 1000))::float8 as "waitMs",
          d.subscription_id as "subscriptionId", e.type as "eventType",
          e.correlation_id as "correlationId", o.plan, clock_timestamp()::text as "readAt"
     from delivery d join organization o on o.id = d.organization_id ${eventOf('d', 'type, correlation_id')} e
    where d.organization_id = $1 and d.environment = $2 and d.id = $3`,
);

/** The progress of a delivery, worded for operators. */
function progressOf({ status, attempts, statusCode, errorClass, waitMs }: DeliveryWorkflowRow): DeliveryProgress {
  switch (status) {
    case 'pending':
    case 'retrying':
      return { kind: 'wait', ms: waitMs };
    case 'dead_lettered': {
      const last = errorClass ?? `HTTP ${statusCode}`;
      return { kind: 'dead_lettered', why: `${last} after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}` };
    }
    case 'delivered':
    case 'failed':
      return { kind: 'over', status };
  }
}

/** @returns undefined when there is no such delivery */
export async function findProgress(scope: Scope, deliveryId: string): Promise<DeliveryProgress | undefined> {
  const row = await scope.one(findDelivery, deliveryId);
  return row && progressOf(row);
}

// An entry that was written after the row was read announces a later change, so it stays.
const settle = statement(
  'delivery.follow_settled',
  `delete from outbox where organization_id = $1 and environment = $2 and kind = 'delivery.follow' and subject_id = $3
     and created_at <= $4::timestamptz`,
);

/**
 * Makes sure that a delivery which failed or was replayed has its workflow: starts it, or signals an open one that the
 * row has changed. Deletes its outbox entry. Harmless when the delivery has ended.
 * @param waitMs until its next attempt; by default what its row says
 */
export async function ensureDeliveryWorkflow(
  { temporal, deliveryPolicy }: DeliveryWorkflowServices,
  scope: Scope,
  deliveryId: string,
  waitMs?: number,
): Promise<void> {
  const row = await scope.one(findDelivery, deliveryId);
  if (!row) return;
  const begin = progressOf({ ...row, ...(waitMs !== undefined && { waitMs }) });
  if (begin.kind === 'over') return resumeDeliveryIfOpen(temporal, deliveryId);
  const { tenant } = scope;
  const { eventType, subscriptionId, correlationId, plan } = row;
  const args: DeliverWebhookArgs = {
    ...tenant,
    ...{ correlationId, deliveryId, eventType, subscriptionId, begin },
    parkedMs: deliveryPolicy.parkedMs,
  };
  const fairness = fairnessOf(tenant, plan);
  // After its first failure a delivery has no workflow yet, and a signal would only lengthen the history.
  const isNew = row.status === 'retrying' && row.attempts === 1;
  await (isNew ? startDelivery : resumeDelivery)(temporal, args, fairness);
  failPoint('delivery.followed');
  await scope.rows(settle, deliveryId, row.readAt);
}

// While the breaker is open, workflows put their deliveries off, and the dispatcher makes those that are held. Any other
// overdue delivery has lost its workflow or never had one.
const findStranded = statement<Tenant & { id: string }>(
  'delivery.lease_stranded',
  `update delivery set next_attempt_at = clock_timestamp()
    where id in (
      select id from delivery
       where status in (${openDelivery}) and attempts > 0 and held_since is null
         and next_attempt_at < (select clock_timestamp() - make_interval(secs => $1::float8 / 1000))
         and (leased_until is null or leased_until < clock_timestamp())
       order by next_attempt_at limit $2 for update skip locked)
   returning id, organization_id as "organizationId", environment`,
);

const strandedAtOnce = 100;
/** The correlation id of this search; the deliveries keep those of their events. */
const searchCorrelation = 'stranded-deliveries';

/** Starts the workflows of deliveries that are long overdue. @returns how many, and those that failed */
export async function rescueStranded(database: Database, services: DeliveryWorkflowServices) {
  const rows = await sqlOn(database.pool).rows(findStranded, [services.deliveryPolicy.strandedMs, strandedAtOnce]);
  const failed: { subjectId: string; error: unknown }[] = [];
  for (const { id, ...tenant } of rows) {
    try {
      await ensureDeliveryWorkflow(services, new Scope(database, tenant, searchCorrelation), id, 0);
    } catch (error) {
      failed.push({ subjectId: id, error });
    }
  }
  return { resumed: rows.length - failed.length, failed };
}
