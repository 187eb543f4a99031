import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { bulkActionIds } from '../../src/automation/core/ids.ts';
import { bulkActionWorkflowId, runMessages, runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { type StartedProduct, startProduct } from '../product.ts';
import { until } from '../until.ts';
import { openTemporalUi, type TemporalUi } from './temporal-ui.ts';
import { startTemporalWithUi, type TemporalWithUi } from './temporal-with-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(180_000);

let temporal: TemporalWithUi;
let product: StartedProduct;
let ui: TemporalUi;
beforeAll(async () => {
  temporal = await startTemporalWithUi();
  product = await startProduct({ TEMPORAL_ADDRESS: temporal.address });
  ui = await openTemporalUi(temporal.uiUrl);
});
afterAll(async () => {
  await ui?.close();
  await product?.close();
  await temporal?.close();
});

const inA = { 'x-api-variant': 'A' };
const ask = (id: string) => ({ id, type: 'approval', message: 'Go on?' });

/** A run that waits for approvals. */
async function start(...steps: Record<string, unknown>[]) {
  const workflowId = await makeFlow(product, product.api, steps);
  const { body } = await product.api.post(`/api/v1/workflows/${workflowId}/execute`, { async: true }, inA);
  const { runId } = body.data;
  const approvals = await until('it asks', async () => {
    const found = (await product.api.get(`/api/v1/approvals?workflowId=${workflowId}`, inA)).body.data.approvals;
    return found.length > 0 && (found as { id: string }[]);
  });
  return { runId: runId as string, approvalId: approvals[0]!.id };
}
const statusOf = async (runId: string) => (await product.api.get(`/api/v1/runs/${runId}`, inA)).body.data.status;

test('a run says on its page what it waits for, and is answered there by its update', async () => {
  const { runId, approvalId } = await start(ask('ask'));
  const workflowId = runWorkflowId(runId);
  await ui.detailsSay(workflowId, new RegExp(`ask waits for the approval ${approvalId}`));
  await ui.openWorkflow(workflowId);
  expect(await (await ui.openMessages('Update')).innerText()).toMatch(/respond\s+Answer an approval/);
  await ui.choose(runMessages.respond);
  await ui.fillInput(JSON.stringify({ approvalId, action: 'approve', comment: 'Seen.' }));
  await ui.confirm('Submit');
  await until('the run ends', async () => (await statusOf(runId)) === 'COMPLETED');
  const { response } = (await product.api.get(`/api/v1/approvals/${approvalId}`, inA)).body.data;
  expect(response).toMatchObject({ action: 'approve', comment: 'Seen.', respondedBy: 'operator', channel: 'temporal' });
});

test('a run with branches that wait is cancelled there, and so are its approvals', async () => {
  const branches = ['a', 'b'].map((id) => ({ id, steps: [ask(`ask_${id}`)] }));
  const { runId, approvalId } = await start({ id: 'both', type: 'parallel', branches });
  await ui.detailsSay(runWorkflowId(runId), /ask_a.* waits for the approval[\s\S]*ask_b.* waits for the approval/);
  await ui.openWorkflow(runWorkflowId(runId));
  await ui.cancelWorkflow();
  await until('the run is cancelled', async () => (await statusOf(runId)) === 'CANCELLED');
  expect((await product.api.get(`/api/v1/approvals/${approvalId}`, inA)).body.data.status).toBe('cancelled');
});

test('a bulk action says on its page how far it is, and is found in the list', async () => {
  const { runId } = await start(ask('ask'));
  const { id } = (await product.api.post('/api/v1/bulk-actions', { action: 'cancel', runIds: [runId] }, inA)).body.data;
  const workflowId = bulkActionWorkflowId(bulkActionIds.parse(id)!);
  await ui.openList('WorkflowType="performBulkAction"', workflowId);
  await ui.detailsSay(workflowId, /1 of 1 runs are done: 1 cancelled, 0 skipped, 0 failed/);
});
