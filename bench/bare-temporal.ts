import { Client, Connection } from '@temporalio/client';
import { newId } from '../src/platform/ids.ts';
import { startChildProgram } from './child-program.ts';
import type { Round } from './interleave.ts';
import type { SelfDrive } from './programs/bare-worker.ts';
import type * as workflows from './programs/bare-workflows.ts';
import type { Stand } from './stand.ts';

export type BareWorkflow = keyof typeof workflows;

/** Temporal without the product: a worker in a process of its own, and a client here. */
export interface BareTemporal {
  start(workflow: BareWorkflow): Promise<unknown>;
  execute(workflow: BareWorkflow): Promise<unknown>;
  /** Load from inside the worker's own process, started eagerly. */
  driveEagerly(workflow: BareWorkflow, load: SelfDrive['load']): Promise<Round>;
  close(): Promise<void>;
}

export async function startBareTemporal(stand: Stand): Promise<BareTemporal> {
  const taskQueue = `bare-${newId()}`;
  const worker = await startChildProgram({
    program: 'bare-worker.ts',
    args: [stand.temporal.address, taskQueue],
    logFile: stand.file('bare-worker.log'),
  });
  stand.meter.watch('bare', worker.pid);
  const connection = await Connection.connect({ address: stand.temporal.address });
  const client = new Client({ connection });
  return {
    start: (workflow) => client.workflow.start(workflow, { workflowId: newId(), taskQueue }),
    execute: (workflow) => client.workflow.execute(workflow, { workflowId: newId(), taskQueue }),
    driveEagerly: (workflow, load) => worker.ask<Round>({ workflow, load } satisfies SelfDrive),
    async close() {
      await connection.close();
      await worker.stop();
      stand.meter.unwatch('bare');
    },
  };
}
