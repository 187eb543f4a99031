export { deliverWebhook } from './deliver-webhook.ts';
export { executeRun } from './execute-run.ts';
export { housekeeping } from './housekeeping.ts';
export { purgeAutomation } from './purge-automation.ts';
export { redriveDeadLetters } from './redrive-dead-letters.ts';
export { startScheduledRun } from './start-scheduled-run.ts';
