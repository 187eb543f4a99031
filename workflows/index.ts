export { executeRun } from './execute-run.ts';
export { housekeeping } from './housekeeping.ts';
export { purgeAutomation } from './purge-automation.ts';
export { startScheduledRun } from './start-scheduled-run.ts';
