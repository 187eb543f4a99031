import { defineStates } from '../../platform/core/states.ts';

/** The state of a workflow. No read returns a deleted workflow, whatever its state. */
export const automationStateTable = defineStates(
  { table: 'automation', column: 'state' },
  {
    active: { meaning: 'The workflow can be executed.', initial: true, to: ['draft', 'archived'] },
    draft: { meaning: 'It is being edited and cannot be executed.', initial: true, to: ['active', 'archived'] },
    archived: { meaning: 'It is kept for reference and cannot be executed.', initial: true, to: ['active', 'draft'] },
  },
);

export const automationStates = automationStateTable.all;
export type AutomationState = (typeof automationStates)[number];
