import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { DrainReport } from '../../platform/outbox/outbox.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { describeWebhook } from '../core/failure-sentence.ts';
import type { DeliveryPolicy } from '../dispatch/delivery-policy.ts';
import { failPoint } from '../fail-points.ts';
import { stoppedRetryWorkflows, wakeRetryWorkflow } from './webhook-workflows.ts';

interface WakeServices {
  temporal: TemporalClient;
}

interface RestartServices extends WakeServices {
  database: Database;
  log: Log;
  deliveryPolicy: DeliveryPolicy;
}

const findPlan = statement({
  name: 'retry_release.plan',
  parameters: { subscriptionId: 'uuid' },
  row: { plan: typed<PlanName>('text'), name: 'text', url: 'text' },
  text: `select o.plan, s.name, s.url from retry_release c join organization o on o.id = c.organization_id
     join webhook_subscription s on s.id = c.subscription_id
    where c.organization_id = :organizationId and c.environment = :environment and c.subscription_id = :subscriptionId`,
});

/** Lets the workflow of a subscription with waiting retries look at them; starts it unless it is open. */
export async function wakeRetryRelease(
  { temporal }: WakeServices,
  scope: Scope,
  subscriptionId: string,
): Promise<void> {
  const found = await scope.one(findPlan, { subscriptionId });
  if (!found) return;
  const args = { ...scope.tenant, correlationId: scope.correlationId, subscriptionId };
  const webhook = describeWebhook(found.name, found.url);
  await wakeRetryWorkflow(temporal, args, fairnessOf(scope.tenant, found.plan), webhook);
  failPoint('retry.woken');
}

// Repeated after twice the time, if no worker exists to look.
const findLost = systemStatement({
  name: 'retry_release.lost',
  parameters: { strandedMs: 'float8', limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `update retry_release set looks_at = atelier_now() + make_interval(secs => :strandedMs / 1000)
    where subscription_id in (
      select subscription_id from retry_release
       where looks_at < (select atelier_now() - make_interval(secs => :strandedMs / 1000))
       order by looks_at limit :limit for update skip locked)
   returning subscription_id as id, organization_id as "organizationId", environment`,
});

const lostBatchSize = 100;
/** The correlation id of this search; the deliveries keep those of their events. */
const searchCorrelation = 'lost-retries';

const sleepLong = systemStatement({
  name: 'retry_release.sleep_long',
  parameters: { strandedMs: 'float8' },
  row: { long: 'boolean' },
  text: `select exists (select from retry_release
                   where looks_at > (select atelier_now() + make_interval(secs => :strandedMs / 1000))) as long`,
});

// Long enough ago to count as lost.
const markLost = systemStatement({
  name: 'retry_release.mark_lost',
  parameters: { stopped: 'uuid[]', strandedMs: 'float8' },
  text: `update retry_release set looks_at = atelier_now() - make_interval(secs => :strandedMs / 500)
    where subscription_id = any(:stopped)`,
});

const askEveryMs = 15_000;
/** Temporal lists a workflow some time after its end, and its clock may differ from ours. */
const lateMs = 60_000;

const kind = 'webhook.wake';

/**
 * Returns a function that wakes the retry workflows of subscriptions whose next look is long overdue, and starts the
 * workflows that an operator ended or that were never started. A call while another one is under way does nothing, so
 * that calls do not accumulate while Temporal hangs.
 */
export function restartStalledRetries(services: RestartServices): () => Promise<DrainReport> {
  const { database, log } = services;
  const sql = sqlOn(database.pool);
  const { strandedMs } = services.deliveryPolicy;
  let askedAt = Number.NEGATIVE_INFINITY;
  // Compared with the times of Temporal, which has a clock of its own.
  let since = new Date();

  /** Asks Temporal only while a workflow sleeps so long that its end would be noticed late. */
  const findStopped = async () => {
    if (performance.now() - askedAt < askEveryMs || !(await sql.one(sleepLong, { strandedMs }))!.long) return;
    askedAt = performance.now();
    const asOf = new Date();
    const stopped = await stoppedRetryWorkflows(services.temporal, new Date(since.getTime() - lateMs));
    if (stopped.length > 0) await sql.rows(markLost, { stopped, strandedMs });
    since = asOf;
  };

  const restart = async (): Promise<DrainReport> => {
    const failed: DrainReport['failed'] = [];
    await findStopped().catch((error) => failed.push({ kind, subjectId: 'stopped workflows', error }));
    const lost = await sql.rows(findLost, { strandedMs, limit: lostBatchSize });
    for (const { id, ...tenant } of lost) {
      try {
        await wakeRetryRelease(services, new Scope(database, tenant, searchCorrelation), id);
      } catch (error) {
        failed.push({ kind, subjectId: id, error });
      }
    }
    for (const { subjectId, error } of failed) {
      log.warn({ err: error, subscriptionId: subjectId }, 'the workflow of a webhook that fails could not be woken');
    }
    return { drained: Math.max(0, lost.length - failed.length), failed };
  };
  let isRestarting = false;
  return async () => {
    if (isRestarting) return { drained: 0, failed: [] };
    isRestarting = true;
    try {
      return await restart();
    } finally {
      isRestarting = false;
    }
  };
}
