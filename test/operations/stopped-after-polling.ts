/** Entry point of a product process that gets SIGTERM when the first of its workers polls. */
import { Worker } from '@temporalio/worker';

const run = Worker.prototype.run;
let isFirst = true;
Worker.prototype.run = function runAndStop(this: Worker, ...args) {
  const running = run.apply(this, args);
  if (isFirst) process.kill(process.pid, 'SIGTERM');
  isFirst = false;
  return running;
};
await import('../../workers/main.ts');
