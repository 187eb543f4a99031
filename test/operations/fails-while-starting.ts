/**
 * Entry point of a product process that makes a mistake: its worker for the activities of webhooks fails as soon as it
 * runs. That for the workflows is needed by the rest of the start.
 */
import { Worker } from '@temporalio/worker';

const run = Worker.prototype.run;
Worker.prototype.run = async function runAndFail(this: Worker, ...args) {
  const running = run.apply(this, args);
  if (!this.options.taskQueue.endsWith('webhooks') || this.options.workflowBundle) return running;
  this.shutdown();
  await running;
  throw new Error('the core gave up');
};
await import('../../workers/main.ts');
