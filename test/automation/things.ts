import type { ThingsOf } from '../openapi/document.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';

/** A workflow with a schedule, a run of it, a batch of one more, a bulk action, and a run that asks for an approval. */
export const automationThings: ThingsOf = async ({ client, database }) => {
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const workflow = (await client.post('/api/v1/workflows', { name: 'Mine', steps })).body.data.id;
  const run = (await client.post(`/api/v1/workflows/${workflow}/execute`, { input: 'x' })).body.data.runId;
  const yearly = { cron: '@yearly', timezone: 'UTC', paused: true };
  await client.request('PUT', `/api/v1/workflows/${workflow}/schedule`, yearly);
  await client.request('PUT', '/api/v1/secrets/TOKEN', { value: 'hidden' });
  const batch = (await client.post(`/api/v1/workflows/${workflow}/batch`, { items: [{ input: 'x' }] })).body.data
    .batchId;
  await until('the batch has ended', async () => {
    return (await client.get(`/api/v1/batches/${batch}`)).body.data.completedAt !== null;
  });
  const bulkAction = (await client.post('/api/v1/bulk-actions', { action: 'cancel', runIds: [run] })).body.data.id;
  await until('the bulk action has ended', async () => {
    return (await client.get(`/api/v1/bulk-actions/${bulkAction}`)).body.data.completedAt !== null;
  });
  const asking = await makeFlow({ database }, client, [{ id: 'ask', type: 'approval', message: 'Go on?' }]);
  await client.post(`/api/v1/workflows/${asking}/execute`, { input: 'x', async: true });
  const approval = await until('the run asks', async () => {
    const { approvals } = (await client.get('/api/v1/approvals')).body.data;
    return approvals[0]?.id as string | undefined;
  });
  return [
    { prefix: /\/v1\/batches\//, parameter: 'batchId', id: batch },
    { prefix: /\/v1\/bulk-actions\//, parameter: 'bulkActionId', id: bulkAction },
    { prefix: /\/v1\/approvals\//, parameter: 'approvalId', id: approval },
    { prefix: /\/v1\/secrets\//, parameter: 'secretName', id: 'TOKEN' },
    { prefix: /\/v1\/workflows\//, parameter: 'id', id: workflow },
    { prefix: /\/v1\/workflows\//, parameter: 'version', id: '1' },
    { prefix: /\/v1\/runs\//, parameter: 'id', id: run },
    { prefix: /\/v1\/runs\//, parameter: 'stepId', id: 'say' },
    { prefix: /^POST \S*\/v1\/webhooks\/\{id\}$/, parameter: 'id', id: workflow },
  ];
};
