import type { AutomationState } from '../../../src/automation/core/automation-state.ts';
import type { AutomationChange, NewAutomation } from '../../../src/automation/definitions/automations.ts';
import type { NewWorkflowBody, WorkflowChangeBody } from './workflow.ts';

const defaultModel = 'claude-sonnet-4-20250514';

/** Reads the state from the field of either dialect. `status` overrides `isActive`. */
function stateOf({ status, isActive }: WorkflowChangeBody): AutomationState | undefined {
  if (status !== undefined) return status;
  if (isActive === undefined) return undefined;
  return isActive ? 'active' : 'draft';
}

const definitionOf = ({ status, isActive, expectedVersion, ...fields }: WorkflowChangeBody) => fields;

/** The new workflow, with the published defaults for fields that were not sent. */
export function readNewWorkflow(body: NewWorkflowBody): NewAutomation {
  return {
    description: null,
    steps: [],
    config: {},
    inputs: [],
    concurrency: null,
    maxDurationSeconds: null,
    mcp: null,
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
