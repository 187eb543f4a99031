import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { runWorkflowId } from '../src/temporal/contracts/automation.ts';
import { searchAttributes as attributeNames } from '../src/temporal/contracts/search-attributes.ts';
import { deliveryWorkflowId } from '../src/temporal/contracts/webhooks.ts';
import { runningServers } from './servers.ts';

/** Temporal as an operator sees it, who knows nothing of the product's processes. */
export interface TemporalView {
  /** As Temporal names it, RUNNING or CANCELLED for example; undefined for a run that it was never told of. */
  statusOf(runId: string): Promise<string | undefined>;
  cancel(runId: string): Promise<void>;
  /** The search attribute of a delivery's workflow; undefined while there is none. */
  deliveryStatus(deliveryId: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function viewTemporal(): Promise<TemporalView> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  const handleOf = (runId: string) => workflow.getHandle(runWorkflowId(runId));
  return {
    async statusOf(runId) {
      try {
        return (await handleOf(runId).describe()).status.name;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    cancel: async (runId) => {
      await handleOf(runId).cancel();
    },
    async deliveryStatus(deliveryId) {
      try {
        const { searchAttributes } = await workflow.getHandle(deliveryWorkflowId(deliveryId)).describe();
        return String(searchAttributes[attributeNames.deliveryStatus]);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    close: () => connection.close(),
  };
}
