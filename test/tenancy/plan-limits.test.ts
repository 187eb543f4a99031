import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCommand } from '../../src/cli/run-command.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

test('PLAN_LIMITS changes the numbers that it names, and no others', async () => {
  const limits = { free: { workflows: 1, monthlyCredits: 7, operationsPerMinute: { tts: 9 } } };
  const { api } = await product.start(['api'], { PLAN_LIMITS: JSON.stringify(limits) });
  const { testKey, liveKey } = await product.createTenant({ plan: 'free' });
  const client = apiClient(api, testKey);
  await makeWorkflow(client);
  const refused = await client.post('/v1/workflows', { name: 'Second', steps: [] });
  expect(refused).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', details: { limit: 1, plan: 'free' } } },
  });
  const { headers } = await client.get('/v1/workflows');
  expect(headers.get('x-ratelimit-limit')).toBe('60');
  const credits = await apiClient(api, liveKey).get('/v1/credits');
  expect(JSON.stringify(credits.body)).toContain('7');

  const document = await (await fetch(`${api}/openapi.json`)).json();
  const { description } = (document as { info: { description: string } }).info;
  expect(description).toContain('| workflows | 1 | 500 |');
  expect(description).toContain('| text to speech, requests per minute | 9 | 60 |');
});

test.each([
  ['{', /PLAN_LIMITS: expected JSON such as/],
  // A process that has the API's routes names unknown fields in the API's words.
  ['{"gold": {}}', /PLAN_LIMITS: (Unrecognized key: "gold"|Unknown field: gold)/],
  ['{"free": {"workflow": 1}}', /PLAN_LIMITS: free: (Unrecognized key: "workflow"|Unknown field: workflow)/],
  ['{"free": {"workflows": -1}}', /PLAN_LIMITS: free\.workflows:/],
  ['{"pro": {"retentionDays": 0}}', /PLAN_LIMITS: pro\.retentionDays:/],
  ['{"pro": {"storageBytes": 1.5}}', /PLAN_LIMITS: pro\.storageBytes: expected a whole number/],
])('a process and a command refuse PLAN_LIMITS=%s', async (limits, message) => {
  await expect(product.start(['api'], { PLAN_LIMITS: limits })).rejects.toThrow(message);
  const errors: string[] = [];
  const variables = { DATABASE_URL: product.databaseUrl, PLAN_LIMITS: limits };
  const code = await runCommand(['org', 'list'], { variables, print() {}, printError: (text) => errors.push(text) });
  expect(code).toBe(1);
  expect(JSON.parse(errors[0]!).error).toMatchObject({
    code: 'environment',
    message: expect.stringMatching(message),
  });
});
