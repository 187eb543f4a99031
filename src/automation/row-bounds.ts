import type { RowBounds } from '../platform/database/row-bound.ts';
import { maxSecrets } from './core/secret-names.ts';

/** Goes with its workflow when that is purged. */
const purge = 'by the part';
const withRun = { removedWith: { table: 'run', by: ['run.remove', 'purge.runs'] }, purge } as const;

/** How the rows of workflows and their runs are bounded. */
export const automationRowBounds: RowBounds = {
  automation: {
    max: { plan: 'workflows' },
    retention: { by: 'automation.purge', after: 'its deletion' },
    purge,
  },
  definition: {
    removedWith: { table: 'automation', by: ['purge.automation'] },
    retention: {
      by: 'remove unused workflow definitions',
      after: 'it is no longer among the 1,000 kept versions and the last of its runs was removed',
    },
    purge,
  },
  run: { retention: { by: 'remove runs after their retention', after: 'the days of the plan from its end' }, purge },
  run_block: { removedWith: { table: 'automation', by: ['purge.automation'] }, purge },
  run_tag: { max: { rows: 10, of: 'run' }, removedWith: { table: 'run', by: 'foreign key' }, purge },
  run_batch: {
    removedWith: { table: 'automation', by: ['purge.automation'] },
    retention: { by: 'remove batches after their retention', after: 'the days of the plan from its end' },
    purge,
  },
  bulk_action: {
    retention: { by: 'remove bulk actions after their retention', after: 'the days of the plan from its end' },
  },
  queued_total: { max: { rows: 1, of: 'environment' } },
  run_step: withRun,
  run_step_round: withRun,
  run_step_call: withRun,
  run_wait: withRun,
  automation_schedule: {
    max: { plan: 'schedules' },
    removedWith: { table: 'automation', by: ['purge.automation'] },
    purge,
  },
  secret: { max: { rows: maxSecrets, of: 'environment' } },
  approval: { removedWith: { table: 'run', by: 'foreign key' }, purge },
  approval_link: { max: { rows: 20, of: 'approval' }, removedWith: { table: 'approval', by: 'foreign key' }, purge },
  approval_change: { retention: { by: 'count approvals in blocks', after: 'its block has counted it' } },
  approval_block: { retention: { by: 'count approvals in blocks', after: 'the last of its approvals was removed' } },
  event_trigger: { max: { plan: 'triggers' }, removedWith: { table: 'automation', by: 'foreign key' }, purge },
  event_start: { removedWith: { table: 'event_trigger', by: 'foreign key' } },
  workflow_event: {
    retention: {
      by: 'remove old events',
      after: '25 hours; its data after one; neither before each step that it resumed has it',
    },
  },
  calling_run: { max: { rows: 1, of: 'run' } },
  calling_total: { max: { rows: 1, of: 'environment' } },
  waiting_total: { max: { rows: 1, of: 'environment' } },
};
