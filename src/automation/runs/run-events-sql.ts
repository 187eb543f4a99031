import { publishEventsSql } from '../../webhooks/index.ts';

/** The columns that a statement which changes a run returns for its events. `began`: whether it was queued before. */
export const changedRun = (began: string) =>
  `run.id, run.automation_id, run.correlation_id, run.status, run.duration_ms, run.tokens_used, run.is_test, ${began} as began`;

/** An expression of an UPDATE's RETURNING. */
export const wasQueued = "old.status = 'queued'";

/**
 * CTEs that publish the events of changed runs in the statement that changes them: started, and ended. Runs of deleted
 * workflows, and test runs, publish nothing.
 * @param changed a CTE with the columns of `changedRun`
 */
export const publishRunEventsSql = (changed: string) => `
   announced as (
     select t.type, c.id as subject_id, c.correlation_id,
            json_build_object('runId', c.id, 'automationId', c.automation_id, 'name', a.name, 'status', t.status,
                               'durationMs', t.duration_ms, 'tokensUsed', t.tokens_used) as facts
       from ${changed} c
       join automation a on a.id = c.automation_id and a.deleted_at is null
      cross join lateral (values
        ('workflow.run.started', 'running', 0, 0, c.began),
        ('workflow.run.' || c.status, c.status, coalesce(c.duration_ms, 0), coalesce(c.tokens_used, 0), c.status <> 'running'))
        as t (type, status, duration_ms, tokens_used, applies)
      where t.applies and not c.is_test),
   ${publishEventsSql('announced')}`;
