import { Client, Connection } from '@temporalio/client';
import { runWorkflowId } from '../src/temporal/contracts.ts';
import { runningServers } from './servers.ts';

/** Temporal as an operator sees it, who knows nothing of the product's processes. */
export interface TemporalView {
  /** As Temporal names it, RUNNING or CANCELLED for example. */
  statusOf(runId: string): Promise<string>;
  cancel(runId: string): Promise<void>;
  close(): Promise<void>;
}

export async function viewTemporal(): Promise<TemporalView> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  const handleOf = (runId: string) => workflow.getHandle(runWorkflowId(runId));
  return {
    statusOf: async (runId) => (await handleOf(runId).describe()).status.name,
    cancel: async (runId) => {
      await handleOf(runId).cancel();
    },
    close: () => connection.close(),
  };
}
