import type { ThingsOf } from '../openapi/document.ts';
import { until } from '../until.ts';

/** A workflow with a schedule, a run of it and a batch of one more. */
export const automationThings: ThingsOf = async ({ client }) => {
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
  return [
    { prefix: /\/v1\/batches\//, parameter: 'batchId', id: batch },
    { prefix: /\/v1\/secrets\//, parameter: 'secretName', id: 'TOKEN' },
    { prefix: /\/v1\/workflows\//, parameter: 'id', id: workflow },
    { prefix: /\/v1\/workflows\//, parameter: 'version', id: '1' },
    { prefix: /\/v1\/runs\//, parameter: 'id', id: run },
    { prefix: /\/v1\/runs\//, parameter: 'stepId', id: 'say' },
    { prefix: /^POST \S*\/v1\/webhooks\/\{id\}$/, parameter: 'id', id: workflow },
  ];
};
