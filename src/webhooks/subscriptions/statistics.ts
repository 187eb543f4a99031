import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { webhookIds } from '../core/ids.ts';
import {
  type AttemptCounts,
  type StatisticsWindow,
  type StatusClass,
  statisticsWindows,
  statusClasses,
  summarize,
  type WebhookStatistics,
  windowStart,
} from '../core/statistics.ts';
import { columnOf } from '../dispatch/attempt-counts.ts';
import { webhookNotFound } from '../errors.ts';

const findSubscription = statement({
  name: 'subscription.of_statistics',
  parameters: { id: 'uuid' },
  row: { id: 'uuid', now: 'timestamptz' },
  text: `select id, atelier_now() as now from webhook_subscription
    where organization_id = :organizationId and environment = :environment and id = :id and deleted_at is null`,
});

const countsOf = (table: string, start: string) =>
  statement({
    name: `${table}.of_window`,
    parameters: { id: 'uuid', from: 'timestamptz' },
    row: {
      at: 'timestamptz',
      '2xx': 'int',
      '3xx': 'int',
      '4xx': 'int',
      '5xx': 'int',
      error: 'int',
      deadLettered: 'int',
      latencies: 'int[]',
    },
    text: `select ${start} as at, ${statusClasses.map((name) => `${columnOf[name]} as "${name}"`).join(', ')},
            dead_lettered as "deadLettered", latencies
       from ${table}
      where organization_id = :organizationId and environment = :environment and subscription_id = :id
        and ${start} >= :from`,
  });
const counts = { minute: countsOf('attempt_minute', 'minute'), hour: countsOf('attempt_hour', 'hour') };

/**
 * Figures of a webhook's attempts, from their counts: a row for each minute, or each hour, of the window.
 * @param id in either form
 * @throws AppError not_found
 */
export async function getStatistics(scope: Scope, id: string, window: StatisticsWindow): Promise<WebhookStatistics> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(findSubscription, { id: uuid }));
  if (!found) throw webhookNotFound(id);
  const now = found.now.getTime();
  const from = new Date(windowStart(window, now));
  const rows = await scope.rows(counts[statisticsWindows[window].per], { id: found.id, from });
  const read = rows.map(({ at, deadLettered, latencies, ...classes }): AttemptCounts => {
    return { at, deadLettered, latencies, byStatusClass: classes satisfies Record<StatusClass, number> };
  });
  return summarize(read, window, now);
}
