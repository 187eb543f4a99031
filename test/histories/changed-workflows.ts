import { sleep } from '@temporalio/workflow';

/** What a careless change would make of the workflows: something waits first that did not wait before. */
async function changed(): Promise<void> {
  await sleep('1 second');
}

export { changed as executeRun, changed as housekeeping, changed as purgeAutomation, changed as startScheduledRun };
