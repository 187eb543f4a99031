export { executeRun } from './execute-run.ts';
export { purgeAutomation } from './purge-automation.ts';
