/**
 * Entry point of a product process that makes mistakes: at the signal SIGUSR2 its worker of webhooks fails, and at SIGHUP a
 * promise that nobody awaits.
 */
import { Worker } from '@temporalio/worker';

const run = Worker.prototype.run;
Worker.prototype.run = async function runOrFail(this: Worker, ...args) {
  const running = run.apply(this, args);
  if (!this.options.taskQueue.endsWith('webhooks')) return running;
  let fails = false;
  process.once('SIGUSR2', () => {
    fails = true;
    this.shutdown();
  });
  // As one whose core gave up, it fails when it no longer holds the connection.
  await running;
  if (fails) throw new Error('the core gave up');
};
process.on('SIGHUP', () => void Promise.reject(new Error('nobody awaits this')));
await import('../../workers/main.ts');
