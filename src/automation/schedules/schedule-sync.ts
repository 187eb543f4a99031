import { findTimezone } from '../../platform/core/timezone.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { temporalExpressions } from '../core/cron.ts';
import {
  createTemporalSchedule,
  findTemporalSchedule,
  type KnownSchedule,
  removeTemporalSchedule,
  replaceTemporalSchedule,
} from './temporal-schedules.ts';

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

const maxLooks = 10;

/**
 * Makes the Temporal Schedule match the row, also when several processes do so at the same time. The row is read after
 * the Schedule, and a Schedule is replaced only if it is unchanged since: an older state never replaces a newer one. If a
 * process dies while another creates and removes, the outbox entry repeats the work.
 * @returns the Temporal Schedule, undefined when the workflow has no schedule
 */
export async function syncSchedule(
  temporal: TemporalClient,
  scope: Scope,
  automationId: string,
): Promise<KnownSchedule | undefined> {
  for (let look = 0; look < maxLooks; look++) {
    const known = await findTemporalSchedule(temporal, automationId);
    const row = await scope.one(findSchedule, { automationId });
    if (row ? known?.revision === row.revision : !known) return known;
    if (!row) {
      await removeTemporalSchedule(temporal, automationId);
      continue;
    }
    const { cron, timezone, paused, revision } = row;
    const wanted = {
      ...scope.tenant,
      automationId,
      revision,
      paused,
      expressions: temporalExpressions(cron),
      // Temporal accepts only the exact names of time zones.
      timezone: findTimezone(timezone) ?? timezone,
    };
    await (known ? replaceTemporalSchedule(temporal, known, wanted) : createTemporalSchedule(temporal, wanted));
  }
  throw new Error(`The schedule of ${automationId} keeps changing.`);
}
