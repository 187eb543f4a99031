import { sleep } from '@temporalio/workflow';

/** What a careless change would make of the workflows: something waits first that did not wait before. */
async function changed(): Promise<void> {
  await sleep('1 second');
}

/** A delivery waits before anything else as it is: here it waits once more. */
async function changedDelivery(): Promise<void> {
  await changed();
  await changed();
}

export {
  changed as executeFlow,
  changed as executeRun,
  changed as fetchEvents,
  changed as followBooking,
  changed as followIntegration,
  changed as housekeeping,
  changed as makeGeneration,
  changed as performAction,
  changed as performBulkAction,
  changed as performVoiceCall,
  changed as purgeAutomation,
  changed as redriveDeadLetters,
  changed as retryWebhook,
  changed as startScheduledRun,
  changed as syncCalendar,
  changed as takeTurn,
  changedDelivery as parkDeadLetter,
};
