import { countOfTenant, ofTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { approvalAnswered, approvalExpired, approvalRequested } from './core/approvals.ts';
import { batchCompleted, runCancelled, runCompleted, runFailed, runStarted } from './core/events.ts';
import { runIds, secretIds, workflowIds } from './core/ids.ts';
import { automationLimits } from './core/limits.ts';
import { findableAutomation } from './findable.ts';

export const automationDeclarations: OperatorDeclarations = {
  name: 'automation',
  scopes: [
    { name: 'workflows:read', position: 10 },
    { name: 'workflows:write', position: 20 },
    { name: 'runs:read', position: 30 },
    { name: 'runs:execute', position: 40 },
  ],
  limits: automationLimits,
  limitUse: {
    workflows: { used: countOfTenant('automation where deleted_at is null and') },
    schedules: {
      used: countOfTenant(
        `automation_schedule where exists (select from automation a where a.id = automation_id and a.deleted_at is null) and`,
      ),
    },
    triggers: { used: countOfTenant('event_trigger where') },
    callingRuns: {
      used: ofTenant('held', 'calling_total'),
      allowed: '(select calling_runs from organization where id = :organizationId)',
    },
    waitingRuns: { used: ofTenant('runs', 'waiting_total') },
    openApprovals: { used: countOfTenant("approval where status = 'pending' and") },
    queuedRuns: { used: ofTenant('runs', 'queued_total') },
    openBatches: { used: countOfTenant('run_batch where completed_at is null and') },
  },
  events: [
    runStarted,
    runCompleted,
    runFailed,
    runCancelled,
    batchCompleted,
    approvalRequested,
    approvalAnswered,
    approvalExpired,
  ],
  auditActions: {
    'workflow.create': workflowIds,
    'workflow.update': workflowIds,
    'workflow.pause': workflowIds,
    'workflow.resume': workflowIds,
    'workflow.restore': workflowIds,
    'workflow.delete': workflowIds,
    'workflow.rotate_secret': workflowIds,
    'workflow.put_triggers': workflowIds,
    'run.delete': runIds,
    'secret.put': secretIds,
    'secret.delete': secretIds,
  },
  sealed: [
    { table: 'approval_link', columns: ['sealed_token'] },
    { table: 'secret', columns: ['sealed_value'] },
  ],
  findable: findableAutomation,
};
