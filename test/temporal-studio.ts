import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { videoIds } from '../src/studio/core/ids.ts';
import { jobWorkflowId } from '../src/temporal/contracts/jobs.ts';
import { generationContract } from '../src/temporal/contracts/studio.ts';
import { runningServers } from './servers.ts';

/** Studio's videos as an operator of Temporal sees them. Ids are `vid_…`. */
export interface StudioView {
  /** As Temporal names it; undefined for one that it does not know. */
  statusOf(id: string): Promise<string | undefined>;
  /** What its workflow says about itself; empty for one that Temporal does not know yet, or that no worker answers for. */
  detailsOf(id: string): Promise<string>;
  cancel(id: string): Promise<void>;
  terminate(id: string): Promise<void>;
  close(): Promise<void>;
}

export async function viewStudio(address = runningServers().temporalAddress): Promise<StudioView> {
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection });
  const handleOf = (id: string) => workflow.getHandle(jobWorkflowId(generationContract, videoIds.parse(id)!));
  async function unlessMissing<T>(look: () => Promise<T>): Promise<T | undefined> {
    try {
      return await look();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }
  return {
    statusOf: (id) => unlessMissing(async () => (await handleOf(id).describe()).status.name),
    // A query to a worker that has died, or that a busy machine holds up, ends with an error of its own.
    detailsOf: (id) =>
      handleOf(id)
        .query('__temporal_workflow_metadata')
        .then(currentDetails, () => ''),
    cancel: async (id) => void (await handleOf(id).cancel()),
    terminate: async (id) => void (await handleOf(id).terminate()),
    close: () => connection.close(),
  };
}

const currentDetails = (metadata: unknown) => (metadata as { currentDetails?: string }).currentDetails ?? '';
