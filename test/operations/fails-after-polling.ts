/** Entry point of a product process whose role cannot start when its worker for activities polls already. */
import { Worker } from '@temporalio/worker';

const create = Worker.create;
Worker.create = async (options) => {
  if (options.workflowBundle) throw new Error('there is no workflow worker');
  return create.call(Worker, options);
};
await import('../../workers/main.ts');
