import { findTimezone } from '../../platform/core/timezone.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { scheduleId } from '../../temporal/contracts/automation.ts';
import { keepSchedule } from '../../temporal/schedules.ts';
import { temporalExpressions } from '../core/cron.ts';
import { type KnownSchedule, knownSchedule, wantedSchedule } from './temporal-schedules.ts';

export const scheduleRow = {
  automationId: 'uuid',
  cron: 'text',
  timezone: 'text',
  paused: 'boolean',
  input: 'json',
  variables: typed<Record<string, unknown>>('json'),
  tags: typed<string[] | null>('jsonb?'),
  metadata: typed<Record<string, unknown> | null>('json?'),
  expiresInMs: 'float8?',
  /** 3 where it is null. */
  priority: 'smallint?',
  version: 'int?',
  revision: 'uuid',
  lastRunAt: 'timestamptz?',
  lastSkippedAt: 'timestamptz?',
  lastSkippedReason: 'text?',
} as const;
export type Schedule = RowWith<typeof scheduleRow>;

export const scheduleColumns = `automation_id as "automationId", cron, timezone, paused, input, variables, tags, metadata,
  expires_in_ms::float8 as "expiresInMs", priority, version, revision,
  last_run_at as "lastRunAt", last_skipped_at as "lastSkippedAt", last_skipped_reason as "lastSkippedReason"`;

/** The schedule of a workflow that exists, of an organization that is not deleted: restored, it gets its schedules again. */
export const findSchedule = statement({
  name: 'schedule.find',
  parameters: { automationId: 'uuid' },
  row: scheduleRow,
  text: `select ${scheduleColumns} from automation_schedule
    where organization_id = :organizationId and environment = :environment and automation_id = :automationId
      and exists (select from automation where id = automation_id and deleted_at is null)
      and exists (select from organization where id = :organizationId and deleted_at is null)`,
});

/**
 * Makes the Temporal Schedule match the row, as `keepSchedule` does.
 * @returns the Temporal Schedule, undefined when the workflow has no schedule
 */
export async function syncSchedule(
  temporal: TemporalClient,
  scope: Scope,
  automationId: string,
): Promise<KnownSchedule | undefined> {
  const kept = await keepSchedule(temporal, scheduleId(automationId), async () => {
    const row = await scope.one(findSchedule, { automationId });
    if (!row) return undefined;
    const { cron, timezone, paused, revision } = row;
    return wantedSchedule({
      ...scope.tenant,
      automationId,
      revision,
      paused,
      expressions: temporalExpressions(cron),
      // Temporal accepts only the exact names of time zones.
      timezone: findTimezone(timezone) ?? timezone,
    });
  });
  return kept && knownSchedule(kept.known);
}
