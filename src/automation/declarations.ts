import type { OperatorDeclarations } from '../platform/part.ts';
import { runCancelled, runCompleted, runFailed, runStarted } from './core/events.ts';
import { runIds, workflowIds } from './core/ids.ts';
import { automationLimits } from './core/limits.ts';
import { findableAutomation } from './findable.ts';

export const automationDeclarations: OperatorDeclarations = {
  name: 'automation',
  limits: automationLimits,
  events: [runStarted, runCompleted, runFailed, runCancelled],
  auditActions: {
    'workflow.create': workflowIds,
    'workflow.update': workflowIds,
    'workflow.delete': workflowIds,
    'workflow.rotate_secret': workflowIds,
    'run.delete': runIds,
  },
  findable: findableAutomation,
};
