import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let connection: Connection;
beforeAll(async () => {
  product = await sharedProduct();
  api = apiClient(product.process.api, (await product.createTenant({ plan: 'team' })).testKey);
  connection = await Connection.connect({ address: runningServers().temporalAddress });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const form = {
  type: 'object',
  properties: { amount: { type: 'number', minimum: 1 } },
  required: ['amount'],
  additionalProperties: false,
};
const inA = { 'x-api-variant': 'A' };

/** A run that waits for two answers at once. */
async function ask() {
  const branches = ['first', 'second'].map((id) => ({
    id,
    steps: [{ id: `ask_${id}`, type: 'approval', message: `The ${id}?`, form }],
  }));
  const workflowId = await makeFlow(product, api, [{ id: 'both', type: 'parallel', branches }]);
  const { runId } = (await api.post(`/api/v1/workflows/${workflowId}/execute`, { async: true }, inA)).body.data;
  const handle = new Client({ connection }).workflow.getHandle(runWorkflowId(runId));
  const approvals = await until('it asks twice', async () => {
    const { approvals: found } = (await api.get(`/api/v1/approvals?workflowId=${workflowId}`, inA)).body.data;
    return found.length === 2 && (found as { id: string; stepId: string }[]);
  });
  await until('its workflow knows', async () =>
    JSON.stringify(await handle.query('__temporal_workflow_metadata')).includes('waits for the approval'),
  );
  return {
    runId: runId as string,
    handle,
    idOf: (stepId: string) => approvals.find((one) => one.stepId === stepId)!.id,
    respond: (answer: unknown) => handle.executeUpdate('respond', { args: [answer] }),
    refusal: (answer: unknown) =>
      handle.executeUpdate('respond', { args: [answer] }).then(
        () => 'accepted',
        (error) => (error instanceof WorkflowUpdateFailedError ? (error.cause as Error).message : String(error)),
      ),
    read: async (id: string) => (await api.get(`/api/v1/approvals/${id}`, inA)).body.data,
  };
}

test('an operator answers approvals by the update of their run, each by its id, and sees why an answer is refused', async () => {
  const { runId, handle, idOf, respond, refusal, read } = await ask();
  const [first, second] = [idOf('ask_first'), idOf('ask_second')];
  const metadata = JSON.stringify(await handle.query('__temporal_workflow_metadata'));
  expect(metadata).toMatch(/"name":"respond","description":"Answer an approval: /);

  const isOfTask = (event: object) =>
    Object.entries(event).some(([name, value]) => name.startsWith('workflowTask') && value);
  const events = async () => (await handle.fetchHistory()).events!.filter((event) => !isOfTask(event)).length;
  const before = await events();
  expect(await refusal('approve')).toMatch(/Expected an object/);
  expect(await refusal({ approvalId: 'x', action: 'approve' })).toMatch(/approvalId/);
  expect(await refusal({ approvalId: first, action: 'approve', comment: 'x'.repeat(2_001) })).toMatch(/2000/);
  expect(await refusal({ approvalId: first, action: 'approve', more: 1 })).toMatch(/no member "more"/);
  expect(await refusal({ approvalId: runId, action: 'approve' })).toMatch(/does not wait for an approval/);
  expect(await refusal({ approvalId: first, action: 'later' })).toBe('action: expected one of approve, reject.');
  expect(await refusal({ approvalId: first, action: 'reject', values: { amount: 1 } })).toMatch(/takes no values/);
  // What the validator refuses is not in the history, but for the tasks that Temporal keeps of refusals.
  expect(await events()).toBe(before);
  expect(await refusal({ approvalId: first, action: 'approve', values: { amount: 0 } })).toMatch(/^values\.amount: /);
  expect((await read(first)).status).toBe('pending');

  const answer = { approvalId: second, action: 'approve', values: { amount: 20 }, comment: 'Fine.' };
  expect(await respond(answer)).toMatchObject({
    action: 'approve',
    values: { amount: 20 },
    comment: 'Fine.',
    respondedBy: 'operator',
    channel: 'temporal',
  });
  expect(await read(second)).toMatchObject({ status: 'answered', response: { respondedBy: 'operator' } });
  // The API returns who was first.
  const late = await api.post(`/api/v1/approvals/${second}/respond`, { action: 'reject' }, inA);
  expect([late.status, late.body.error.details]).toMatchObject([409, { status: 'answered', respondedBy: 'operator' }]);
  expect(await refusal({ ...answer, action: 'reject', values: {} })).toMatch(
    /answered already|does not wait for an approval/,
  );
  expect((await read(first)).status).toBe('pending');
  await respond({ approvalId: first, action: 'reject' });
  await handle.result();
  const { status, stepResults, steps } = (await api.get(`/api/v1/runs/${runId}`, inA)).body.data;
  expect(status).toBe('COMPLETED');
  const shown: { stepId: string; output?: { channel?: string; action?: string } }[] = stepResults ?? steps;
  expect(shown.find(({ stepId }) => stepId === 'ask_first')).toMatchObject({
    output: { action: 'reject', channel: 'temporal', respondedBy: 'operator' },
  });
});

test('of two answers at the same time, in Temporal and by the API, one wins', async () => {
  const { handle, idOf, refusal, read } = await ask();
  const id = idOf('ask_first');
  const [inTemporal, byApi] = await Promise.all([
    refusal({ approvalId: id, action: 'approve', values: { amount: 3 } }),
    api.post(`/api/v1/approvals/${id}/respond`, { action: 'reject' }, inA),
  ]);
  const { response } = await read(id);
  expect([inTemporal === 'accepted', byApi.status === 200].filter(Boolean)).toHaveLength(1);
  expect(response.channel).toBe(byApi.status === 200 ? 'api' : 'temporal');
  await handle.cancel();
});
