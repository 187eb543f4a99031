import { automationTasks } from '../../src/automation/bounded/bounded-tasks.ts';
import { BoundedWork } from '../../src/platform/bounded-work/bounded-work.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { makeInstance } from '../../src/providers/sandbox/text-model.ts';

/** The pool as the product opens it. Close it, or its processes outlive the test. */
export const openBoundedWork = (): BoundedWork =>
  new BoundedWork({ log: openLog('error', 'test'), tasks: [...automationTasks, makeInstance] });
