import type { ThingsOf } from '../openapi/document.ts';

/** A workflow with a schedule, and a run of it. */
export const automationThings: ThingsOf = async ({ client }) => {
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const workflow = (await client.post('/api/v1/workflows', { name: 'Mine', steps })).body.data.id;
  const run = (await client.post(`/api/v1/workflows/${workflow}/execute`, { input: 'x' })).body.data.runId;
  const yearly = { cron: '@yearly', timezone: 'UTC', paused: true };
  await client.request('PUT', `/api/v1/workflows/${workflow}/schedule`, yearly);
  await client.request('PUT', '/api/v1/secrets/TOKEN', { value: 'hidden' });
  return [
    { prefix: /\/v1\/secrets\//, parameter: 'secretName', id: 'TOKEN' },
    { prefix: /\/v1\/workflows\//, parameter: 'id', id: workflow },
    { prefix: /\/v1\/workflows\//, parameter: 'version', id: '1' },
    { prefix: /\/v1\/runs\//, parameter: 'id', id: run },
    { prefix: /\/v1\/runs\//, parameter: 'stepId', id: 'say' },
    { prefix: /^POST \S*\/v1\/webhooks\/\{id\}$/, parameter: 'id', id: workflow },
  ];
};
