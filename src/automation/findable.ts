import type { FindableRows } from '../platform/parts/findable.ts';
import { bulkActionWorkflowId, runWorkflowId, scheduleId } from '../temporal/contracts/automation.ts';
import { approvalIds, batchIds, bulkActionIds, runIds, workflowIds } from './core/ids.ts';

/** What operators find of automations and their runs. */
export const findableAutomation: readonly FindableRows[] = [
  {
    kind: 'run',
    table: 'run',
    ids: [runIds],
    state: 'r.status',
    reason: `(r.error->>'code') || coalesce(': ' || (r.error->>'message'), '')`,
    facts: `jsonb_build_object('workflow', r.automation_id, 'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
    workflowId: runWorkflowId,
    search: {
      scope: 'runs:read',
      title: '(select a.name from automation a where a.id = r.automation_id)',
      at: 'r.created_at',
      isShown: 'exists (select from automation a where a.id = r.automation_id and a.deleted_at is null)',
      by: { correlation: 'r.correlation_id = :text' },
    },
    // Includes its steps, whose code is loaded on first use.
    describe: async (database, id) => (await import('./runs/any-run.ts')).describeRun(database, id),
  },
  {
    kind: 'workflow',
    table: 'automation',
    ids: [workflowIds],
    state: `case when r.deleted_at is null then r.state else 'deleted' end`,
    reason: 'null::text',
    facts: `jsonb_build_object(
      'createdAt', r.created_at, 'updatedAt', r.updated_at, 'deletedAt', r.deleted_at,
      'schedule', (select jsonb_build_object('lastRunAt', s.last_run_at, 'lastSkippedAt', s.last_skipped_at,
                                             'lastSkippedReason', s.last_skipped_reason)
                     from automation_schedule s where s.automation_id = r.id))`,
    correlation: null,
    workflowId: scheduleId,
    search: {
      scope: 'workflows:read',
      title: 'r.name',
      at: 'r.created_at',
      isShown: 'r.deleted_at is null',
      // A plan bounds how many workflows there are.
      by: { name: 'strpos(lower(r.name), lower(:text)) > 0' },
    },
  },
  {
    kind: 'bulk-action',
    table: 'bulk_action',
    ids: [bulkActionIds],
    state: 'r.status',
    reason: 'null::text',
    facts: `jsonb_build_object('action', r.action, 'total', r.total, 'succeeded', r.succeeded, 'failed', r.failed,
                               'skipped', r.skipped, 'createdAt', r.created_at, 'completedAt', r.completed_at)`,
    workflowId: bulkActionWorkflowId,
  },
  {
    kind: 'batch',
    table: 'run_batch',
    ids: [batchIds],
    state: 'r.status',
    reason: 'null::text',
    facts: `jsonb_build_object('workflow', r.automation_id, 'total', r.total, 'reused', r.reused, 'skipped', r.skipped,
                               'createdAt', r.created_at, 'completedAt', r.completed_at)`,
    byCorrelation: 'r.id in (select f.batch_id from run f where f.correlation_id = :correlationId)',
  },
  {
    kind: 'approval',
    table: 'approval',
    ids: [approvalIds],
    state: 'r.status',
    reason: 'null::text',
    facts: `jsonb_build_object('run', r.run_id, 'workflow', r.automation_id, 'step', r.step_id, 'createdAt', r.created_at,
                               'expiresAt', r.expires_at, 'respondedAt', r.response->>'respondedAt')`,
    byCorrelation: 'r.run_id in (select f.id from run f where f.correlation_id = :correlationId)',
  },
];
