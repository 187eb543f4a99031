import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { findTimezone, temporalExpressions } from './core/cron.ts';
import {
  createTemporalSchedule,
  findTemporalSchedule,
  type KnownSchedule,
  removeTemporalSchedule,
  replaceTemporalSchedule,
} from './temporal-schedules.ts';

export interface Schedule {
  automationId: string;
  cron: string;
  timezone: string;
  paused: boolean;
  input: unknown;
  variables: Record<string, unknown>;
  revision: string;
  lastRunAt: Date | null;
}

export const scheduleColumns = `automation_id as "automationId", cron, timezone, paused, input, variables, revision,
  last_run_at as "lastRunAt"`;

/** The schedule of a workflow that exists. */
export const findSchedule = statement<Schedule>(
  'schedule.find',
  `select ${scheduleColumns} from automation_schedule
    where organization_id = $1 and environment = $2 and automation_id = $3
      and exists (select from automation where id = automation_id and deleted_at is null)`,
);

const mostLooks = 10;

/**
 * Brings the Temporal Schedule in line with the row, whoever else is at it. The row is read after Temporal was asked,
 * and a schedule is replaced only if it is still the one that was found: so what is written is never older than what it
 * replaces, and the last state wins in whichever order two requests get here. What the looks do not settle (one process
 * removes while another creates, and dies before it looks again) the outbox entry does, and at last the schedule's next
 * firing.
 * @returns the Temporal Schedule as it is now, undefined when there is to be none
 */
export async function syncSchedule(
  temporal: TemporalClient,
  scope: Scope,
  automationId: string,
): Promise<KnownSchedule | undefined> {
  for (let look = 0; look < mostLooks; look++) {
    const known = await findTemporalSchedule(temporal, automationId);
    const row = await scope.one(findSchedule, automationId);
    if (row ? known?.revision === row.revision : !known) return known;
    if (!row) {
      await removeTemporalSchedule(temporal, automationId);
      continue;
    }
    const { cron, timezone, paused, revision } = row;
    const wanted = {
      ...scope.tenant,
      ...{ automationId, revision, paused, expressions: temporalExpressions(cron) },
      // Temporal knows zones by their exact names alone.
      timezone: findTimezone(timezone) ?? timezone,
    };
    await (known ? replaceTemporalSchedule(temporal, known, wanted) : createTemporalSchedule(temporal, wanted));
  }
  throw new Error(`The schedule of ${automationId} keeps changing.`);
}
