export { deliverWebhook } from './deliver-webhook.ts';
export { executeRun } from './execute-run.ts';
export { fetchEvents } from './fetch-events.ts';
export { followBooking } from './follow-booking.ts';
export { followIntegration } from './follow-integration.ts';
export { housekeeping } from './housekeeping.ts';
export { makeGeneration } from './make-generation.ts';
export { parkDeadLetter } from './park-dead-letter.ts';
export { performAction } from './perform-action.ts';
export { performVoiceCall } from './perform-voice-call.ts';
export { purgeAutomation } from './purge-automation.ts';
export { redriveDeadLetters } from './redrive-dead-letters.ts';
export { retryWebhook } from './retry-webhook.ts';
export { startScheduledRun } from './start-scheduled-run.ts';

export { syncCalendar } from './sync-calendar.ts';

export { takeTurn } from './take-turn.ts';
