import type { AutomationChange, NewAutomation } from '../../../src/automation/automations.ts';
import type { AutomationState } from '../../../src/automation/core/automation-state.ts';
import type { NewWorkflowBody, WorkflowChangeBody } from './workflow.ts';

const defaultModel = 'claude-sonnet-4-20250514';

/** Both dialects' ways of saying whether a workflow may run; `status` says more and wins. */
function stateOf({ status, isActive }: WorkflowChangeBody): AutomationState | undefined {
  if (status !== undefined) return status;
  if (isActive === undefined) return undefined;
  return isActive ? 'active' : 'draft';
}

const definitionOf = ({ status, isActive, ...fields }: WorkflowChangeBody) => fields;

/** A workflow as its creator described it, with the published defaults for the rest. */
export function readNewWorkflow(body: NewWorkflowBody): NewAutomation {
  return {
    description: null,
    steps: [],
    config: {},
    inputs: [],
    aiProvider: 'ANTHROPIC',
    aiModel: defaultModel,
    state: 'active',
    ...stripUndefined({ ...definitionOf(body), state: stateOf(body) }),
    name: body.name,
  };
}

export function readWorkflowChange(body: WorkflowChangeBody): AutomationChange {
  return { ...definitionOf(body), state: stateOf(body) } as AutomationChange;
}

function stripUndefined(fields: AutomationChange): Partial<NewAutomation> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
