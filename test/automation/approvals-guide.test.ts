import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';

const guide = readFileSync(new URL('../../docs/approvals.md', import.meta.url), 'utf8');
const blocks = [...guide.matchAll(/(?<=\n\n)(?: {4}.*\n)+/g)].map(([block]) => block.trim());
const commands = blocks
  .filter((block) => block.startsWith('curl'))
  .flatMap((block) => block.split(/\n {4}(?=curl)/).map((command) => command.trim()));
const steps = blocks.filter((block) => block.startsWith('{"id"')).map((block) => JSON.parse(block));

let product: Awaited<ReturnType<typeof sharedProduct>>;
let key: string;
beforeAll(async () => {
  product = await sharedProduct();
  key = (await product.createTenant({ plan: 'team' })).testKey;
});
afterAll(() => product.close());

/** Does what a reader of the guide does. */
async function type(command: string, ids: Record<string, string>) {
  const typed = Object.entries(ids).reduce((text, [name, id]) => text.replaceAll(name, id), command);
  const here = typed
    .replaceAll('http://127.0.0.1:3000', product.process.api)
    .replace(/^curl/, 'curl -sS --noproxy "*"');
  const { stdout } = await promisify(execFile)('bash', ['-c', `KEY=${key}\n${here}`]);
  return JSON.parse(stdout);
}

test('the commands of the guide ask, list and answer', async () => {
  expect(commands).toHaveLength(4);
  const [create, execute, list, answer] = commands as [string, string, string, string];
  const made = await type(create, {});
  expect(made.data).not.toHaveProperty('warnings');
  const { runId } = (await type(execute, { WORKFLOW_ID: made.data.id })).data;
  const pending = await until('the run asks', async () => (await type(list, {})).data.approvals[0]);
  expect(pending).toMatchObject({ message: 'Refund Ada?', approvers: ['clerk@example.com'], status: 'pending' });
  const answered = await type(answer, { APPROVAL_ID: pending.id });
  expect(answered.data).toMatchObject({ status: 'answered', response: { action: 'approve', comment: 'Fine.' } });
  const api = apiClient(product.process.api, key);
  await until('the run ends', async () => (await api.get(`/api/v1/runs/${runId}`)).body.data.status === 'COMPLETED');
});

test.each(steps)('the step %j can be saved', async (step) => {
  const { status, body } = await apiClient(product.process.api, key).post('/api/v1/workflows', {
    name: 'Documented',
    steps: [step],
  });
  expect([status, body.data.warnings]).toEqual([201, undefined]);
});
