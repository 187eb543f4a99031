import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { newId } from '../../src/platform/ids.ts';
import { type Crowd, ratePerSecond, timeAlone } from '../load.ts';

/**
 * The baseline of everything that runs on Temporal: a worker as the SDK's guide shows it, whose activities do nothing.
 * Neither versioned nor started eagerly, unless it is asked to drive itself: then client and worker share a connection
 * and the first task of a workflow comes with the answer to its start.
 */
const activities = {
  async echo(text: string): Promise<string> {
    return text;
  },
};
export type BareActivities = typeof activities;

/** Drives workflows of this worker from inside its own process, started eagerly. */
export interface SelfDrive {
  workflow: string;
  load: { count: number } | Crowd;
}

const [address, taskQueue] = process.argv.slice(2);
if (!address || !taskQueue) throw new Error('Usage: node bench/programs/bare-worker.ts ADDRESS TASK_QUEUE');

Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address });
const client = new Client({ connection });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('bare-workflows.ts', import.meta.url)),
  activities,
  // As the product's worker, so that neither is limited where the other is not.
  maxConcurrentWorkflowTaskExecutions: 100,
  maxCachedWorkflows: 500,
});

process.on('message', async ({ workflow, load }: SelfDrive) => {
  const execute = () =>
    client.workflow.execute(workflow, { workflowId: newId(), taskQueue, requestEagerStart: true } as never);
  process.send?.(await ('count' in load ? timeAlone(execute, load) : ratePerSecond(execute, load)));
});
// On a signal the worker drains by itself. If the parent process ends, this one ends too.
process.on('disconnect', () => worker.getState() === 'RUNNING' && worker.shutdown());

const done = worker.run();
process.send?.({});
await done;
await connection.close();
process.exit(0);
