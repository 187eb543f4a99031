import { clock } from '../../platform/clock.ts';
import { findTimezone } from '../../platform/core/timezone.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { findCronProblem, nextTimes } from '../core/cron.ts';
import { workflowIds } from '../core/ids.ts';
import { type InputDefinition, resolveInputs } from '../core/inputs.ts';
import { getAutomation } from '../definitions/automations.ts';
import { workflowNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { enforceScheduleLimit } from '../plan-limits.ts';
import { findSchedule, type Schedule, scheduleColumns, scheduleRow, syncSchedule } from './schedule-sync.ts';
import { findTemporalSchedule, type KnownSchedule } from './temporal-schedules.ts';

interface ScheduleServices {
  temporal: TemporalClient;
  log: Log;
}

export type NewSchedule = Pick<
  Schedule,
  'cron' | 'timezone' | 'paused' | 'input' | 'variables' | 'tags' | 'metadata' | 'expiresInMs' | 'priority' | 'version'
>;

export interface ScheduleDetail extends NewSchedule {
  /** The next times. While the schedule is paused, nothing starts at them. */
  nextRunTimes: Date[];
  lastRunAt: Date | null;
  /** The last time at which no run was started, and a code that says why. */
  lastSkipped: { at: Date; reason: string } | null;
}

const timesShown = 5;

const enqueueSync = (from: string) => `
  ${enqueueSql('schedule.sync', { subject: '"automationId"', correlation: ':correlationId', from })}
  ${replacingEarlier}`;

// Waits for Temporal, because the answer contains Temporal's next times.
const syncedByVerb = { enqueues: 'drain' as const };

const put = statement({
  name: 'schedule.put',
  parameters: {
    automationId: 'uuid',
    correlationId: 'text',
    revision: 'uuid',
    cron: 'text',
    timezone: 'text',
    paused: 'boolean',
    input: 'json',
    variables: 'json',
    tags: 'jsonb?',
    metadata: 'json?',
    expiresInMs: 'bigint?',
    priority: 'smallint?',
    version: 'int?',
  },
  row: scheduleRow,
  text: `with live as (
     select id from automation where organization_id = :organizationId and environment = :environment and id = :automationId and deleted_at is null
        for share),
   written as (
     insert into automation_schedule (automation_id, organization_id, environment, revision, cron, timezone, paused, input,
                                      variables, tags, metadata, expires_in_ms, priority, version, created_at, updated_at)
     select id, :organizationId, :environment, :revision, :cron, :timezone, :paused, :input, :variables, :tags, :metadata,
            :expiresInMs, :priority, :version, atelier_now(), atelier_now()
       from live
     on conflict (automation_id) do update
        set revision = excluded.revision, cron = excluded.cron, timezone = excluded.timezone, paused = excluded.paused,
            input = excluded.input, variables = excluded.variables, tags = excluded.tags, metadata = excluded.metadata,
            expires_in_ms = excluded.expires_in_ms, priority = excluded.priority, version = excluded.version, updated_at = excluded.updated_at
     returning ${scheduleColumns}),
   enqueued as (${enqueueSync('written')})
   select * from written`,
  ...syncedByVerb,
});

const remove = statement({
  name: 'schedule.remove',
  parameters: { automationId: 'uuid', correlationId: 'text' },
  row: { id: 'uuid' },
  text: `with removed as (
     delete from automation_schedule
      where organization_id = :organizationId and environment = :environment and automation_id = :automationId
        and exists (select from automation where id = automation_id and deleted_at is null)
     returning automation_id as "automationId"),
   enqueued as (${enqueueSync('removed')})
   select "automationId" as id from removed`,
  ...syncedByVerb,
});

/** Updates Temporal now; if that fails, the drain does it. */
async function syncTemporal({ temporal, log }: ScheduleServices, scope: Scope, automationId: string) {
  failPoint('schedule.committed');
  return syncSchedule(temporal, scope, automationId).catch((error) => {
    log.warn({ err: error, automationId }, 'a schedule will be updated in Temporal later');
    return undefined;
  });
}

/**
 * The pause and the next times are Temporal's, so that an operator's changes are shown. They are the row's while Temporal
 * is unavailable or has an older state of the schedule.
 */
function detailOf(
  { revision, automationId: _, lastSkippedAt: at, lastSkippedReason: reason, ...row }: Schedule,
  known: KnownSchedule | undefined,
): ScheduleDetail {
  const schedule = { ...row, lastSkipped: at && reason !== null ? { at, reason } : null };
  if (known?.revision === revision) {
    return { ...schedule, paused: known.paused, nextRunTimes: known.nextTimes.slice(0, timesShown) };
  }
  const { cron, timezone } = schedule;
  return { ...schedule, nextRunTimes: nextTimes(cron, timezone, clock.date(), timesShown) };
}

const noSchedule = (workflowId: string) => new AppError('not_found', 'The workflow has no schedule.', { workflowId });

/** @param inputs of the workflow. @throws AppError validation_error with paths cron, timezone and inputs.<name> */
export function checkSchedule({ cron, timezone, variables }: NewSchedule, inputs: readonly InputDefinition[]): void {
  const problem = findCronProblem(cron);
  const problems = [
    ...(problem === undefined ? [] : [{ path: 'cron', message: problem }]),
    ...(findTimezone(timezone) ? [] : [{ path: 'timezone', message: 'Expected a zone of the tz database.' }]),
    ...resolveInputs(inputs, variables).problems,
  ];
  if (problems.length > 0) throw invalid(problems);
}

/** Writes a checked schedule. The outbox updates Temporal. @returns undefined if the workflow was deleted */
export async function writeSchedule(
  tx: Transaction,
  automationId: string,
  schedule: NewSchedule,
): Promise<Schedule | undefined> {
  const { cron, timezone, paused, input, variables, tags, metadata, expiresInMs, priority, version } = schedule;
  await enforceScheduleLimit(tx, automationId);
  return tx.one(put, {
    automationId,
    correlationId: tx.correlationId,
    revision: newId(),
    cron,
    timezone,
    paused,
    input: JSON.stringify(input ?? null),
    variables: JSON.stringify(variables),
    tags: tags && JSON.stringify(tags),
    metadata: metadata && JSON.stringify(metadata),
    expiresInMs,
    priority,
    version,
  });
}

/**
 * Creates or replaces the workflow's schedule. Variables must satisfy the current inputs; each firing checks the inputs of
 * its own time.
 * @throws AppError validation_error with paths cron, timezone and inputs.<name>, workflow_not_found, forbidden when the
 * plan includes no further schedule
 */
export async function putSchedule(
  services: ScheduleServices,
  scope: Scope,
  id: string,
  schedule: NewSchedule,
): Promise<ScheduleDetail> {
  const automation = await getAutomation(scope, id);
  checkSchedule(schedule, automation.inputs);
  const written = await scope.transaction((tx) => writeSchedule(tx, automation.id, schedule));
  if (!written) throw workflowNotFound(id);
  return detailOf(written, await syncTemporal(services, scope, automation.id));
}

/** @throws AppError workflow_not_found, not_found when the workflow has none */
export async function getSchedule(
  { temporal, log }: ScheduleServices,
  scope: Scope,
  id: string,
): Promise<ScheduleDetail> {
  const uuid = workflowIds.parse(id);
  const found = uuid && (await scope.one(findSchedule, { automationId: uuid }));
  if (!found) {
    await getAutomation(scope, id);
    throw noSchedule(id);
  }
  const known = await findTemporalSchedule(temporal, uuid).catch((error) => {
    log.warn({ err: error, automationId: uuid }, 'times of a schedule are worked out without Temporal');
    return undefined;
  });
  return detailOf(found, known);
}

/** @throws AppError workflow_not_found, not_found when the workflow has none */
export async function deleteSchedule(services: ScheduleServices, scope: Scope, id: string): Promise<void> {
  const uuid = workflowIds.parse(id);
  const removed = uuid && (await scope.one(remove, { automationId: uuid, correlationId: scope.correlationId }));
  if (!removed) {
    await getAutomation(scope, id);
    throw noSchedule(id);
  }
  await syncTemporal(services, scope, uuid);
}
