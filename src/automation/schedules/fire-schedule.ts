import { findClaim, fingerprintOf, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { ScheduledRunArgs, ScheduledRunOutcome } from '../../temporal/contracts/automation.ts';
import { includesTime } from '../core/cron.ts';
import { type CreateRunServices, createRun } from '../runs/create-run.ts';
import { type DayServices, takeRunsOfDay } from '../starts/day-window.ts';
import { QueueLimitReached } from '../starts/queue-limit.ts';
import { findSchedule, syncSchedule } from './schedule-sync.ts';

export interface FireServices extends CreateRunServices, DayServices {
  log: Log;
}

/** Failures of the workflow itself. The firing is skipped, because a retry would fail again. */
const reasonsToSkip: readonly string[] = [
  'workflow_inactive',
  'workflow_not_found',
  'validation_error',
  'provider_not_configured',
  'expression_error',
];

const dayUsedUp = 'rate_limit_exceeded';

const noteSkip = statement({
  name: 'schedule.note_skip',
  parameters: { automationId: 'uuid', dueAt: 'timestamptz', reason: 'text' },
  text: `update automation_schedule set last_skipped_at = :dueAt, last_skipped_reason = :reason
    where organization_id = :organizationId and environment = :environment and automation_id = :automationId
      and coalesce(last_skipped_at <= :dueAt, true)`,
});

const noteRun = statement({
  name: 'schedule.note_run',
  parameters: { automationId: 'uuid', runId: 'uuid' },
  text: `update automation_schedule set last_run_at = greatest(last_run_at, r.created_at)
     from run r
    where automation_schedule.organization_id = :organizationId and automation_schedule.environment = :environment
      and automation_schedule.automation_id = :automationId and r.id = :runId`,
});

/** Identifies one firing of one schedule, so that it creates at most one run. */
const claimOf = (automationId: string, time: string): IdempotencyClaim => ({
  method: 'SCHEDULE',
  path: `/api/v1/workflows/${automationId}/schedule`,
  key: time,
  fingerprint: fingerprintOf(null),
});

/** Names a scheduled run in its correlation id; to the second, as Temporal names the workflows that it starts. */
export const firingName = (automationId: string, dueAt: Date) =>
  `schedule-${automationId}-${dueAt.toISOString().replace('.000Z', 'Z')}`;

/**
 * Whether the day's window has room for a run, which counts in it. A run that was counted before does not count again.
 */
const takeOfDay = async (services: DayServices, scope: Scope, firing: IdempotencyClaim): Promise<boolean> =>
  (await findClaim(scope, firing)) !== undefined || takeRunsOfDay(services, scope);

/**
 * Starts the run of one firing, once however often it is called. An outdated Temporal Schedule is updated first; its
 * firing counts only if the current schedule has the same time.
 */
export async function fireSchedule(
  services: FireServices,
  scope: Scope,
  { automationId, revision }: ScheduledRunArgs,
  dueAt: Date,
): Promise<ScheduledRunOutcome> {
  const schedule = await scope.one(findSchedule, { automationId });
  const isCurrent = schedule?.revision === revision;
  if (!isCurrent) await syncSchedule(services.temporal, scope, automationId);
  // A paused schedule that is current was triggered by an operator.
  const isDue = schedule && (isCurrent || (!schedule.paused && includesTime(schedule.cron, schedule.timezone, dueAt)));
  if (!isDue) return { outdated: true };

  const { input, variables, tags, metadata, expiresInMs, priority, version } = schedule;
  const idempotency = claimOf(automationId, dueAt.toISOString());
  const skip = async (reason: string): Promise<ScheduledRunOutcome> => {
    await scope.rows(noteSkip, { automationId, dueAt, reason });
    const { correlationId, tenant } = scope;
    services.log.warn({ ...tenant, automationId, correlationId, reason }, 'a scheduled run was not started');
    return { skipped: reason };
  };
  if (!(await takeOfDay(services, scope, idempotency))) return skip(dayUsedUp);
  try {
    const run = await createRun(services, scope, automationId, {
      input: { value: input },
      variables,
      idempotency,
      waiter: null,
      options: {
        tags: tags ?? [],
        metadata: metadata ?? undefined,
        expiresInMs: expiresInMs ?? undefined,
        priority: priority ?? undefined,
        version: version ?? undefined,
      },
      trigger: { type: 'schedule', facts: { dueAt: dueAt.toISOString() } },
    });
    if (run.runId === null) return skip('concurrency');
    await scope.rows(noteRun, { automationId, runId: run.runId });
    return { started: run.runId };
  } catch (error) {
    if (error instanceof QueueLimitReached) return skip('queue_limit');
    if (!(error instanceof AppError) || !reasonsToSkip.includes(error.code)) throw error;
    return skip(error.code);
  }
}
