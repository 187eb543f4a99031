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
