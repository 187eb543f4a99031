import type { WorkflowClient } from '@temporalio/client';
import { bulkActionIds } from '../../src/automation/core/ids.ts';
import { bulkActionMessages, bulkActionWorkflowId } from '../../src/temporal/contracts/automation.ts';
import type { ApiClient } from '../api-client.ts';
import { until } from '../until.ts';

/** Bulk actions: one that is done, one that is paused and resumed, and one that is aborted while it is paused. */
export async function recordBulkActions(
  api: ApiClient,
  workflow: WorkflowClient,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const steps = [{ id: 'say', type: 'prompt', prompt: 'sandbox:fail' }];
  const { id: failing } = (await api.post('/api/v1/workflows', { name: 'Recorded', steps })).body.data;
  const items = Array.from({ length: 200 }, () => ({}));
  const { batchId } = (await api.post(`/api/v1/workflows/${failing}/batch`, { items })).body.data;
  await until(
    'its runs have failed',
    async () => {
      return (await api.get(`/api/v1/batches/${batchId}`)).body.data.completedAt !== null;
    },
    300_000,
  );
  const filter = { batchId, from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  const start = async (action: string) => {
    const { id } = (await api.post('/api/v1/bulk-actions', { action, filter })).body.data;
    return { id, workflowId: bulkActionWorkflowId(bulkActionIds.parse(id)!) };
  };
  const pause = ({ workflowId }: { workflowId: string }) =>
    until('it is paused', () =>
      workflow
        .getHandle(workflowId)
        .signal(bulkActionMessages.pause)
        .then(
          () => true,
          () => false,
        ),
    );
  await keep('performBulkAction/cancels', (await start('cancel')).workflowId);
  const resumed = await start('retry');
  await pause(resumed);
  const stands = async () => (await api.get(`/api/v1/bulk-actions/${resumed.id}`)).body.data.counts.succeeded > 0;
  await until('some are retried', stands);
  await workflow.getHandle(resumed.workflowId).signal(bulkActionMessages.resume);
  await keep('performBulkAction/paused-and-resumed', resumed.workflowId);
  const aborted = await start('retry');
  await pause(aborted);
  await api.post(`/api/v1/bulk-actions/${aborted.id}/abort`, {});
  await keep('performBulkAction/aborted', aborted.workflowId);
}
