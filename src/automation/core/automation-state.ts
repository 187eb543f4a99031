import { defineStates } from '../../platform/core/states.ts';

/** Of what the product calls a workflow. A deleted one has no state: it is gone from every read. */
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
