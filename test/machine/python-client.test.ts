import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { openPythonEnvironment, type PythonEnvironment } from './python-environment.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let python: PythonEnvironment;

beforeAll(async () => {
  product = await sharedProduct();
  python = await openPythonEnvironment(new URL('./python-client/', import.meta.url));
  const document = await (await fetch(`${product.process.api}/openapi.json`)).text();
  await writeFile(join(python.folder, 'openapi.json'), document);
}, 600_000);
afterAll(async () => {
  await product.close();
  await python.remove();
});

test('the generated Python client lacks nothing of the document', async () => {
  const args = ['--path', 'openapi.json', '--config', 'config.yml', '--output-path', 'made', '--overwrite'];
  const { stdout, stderr } = await python.run('openapi-python-client', 'generate', ...args);
  expect(`${stdout}${stderr}`.trim()).toBe('Generating made');
  await python.run('mv', 'made/atelier_client', 'atelier_client');
}, 300_000);

test('its types allow one task of each feature, and the tasks succeed', async () => {
  await python.run('mypy', '--strict', '--follow-imports=silent', 'tasks.py');
  const { stdout } = await python.run('python', 'tasks.py', product.process.api, product.tenant.testKey);
  expect(JSON.parse(stdout)).toEqual({
    run: 'COMPLETED',
    runs: 1,
    reply: true,
    image: true,
    transcription: true,
    eventType: 'Call',
    webhook: 'whsec_',
    integrations: true,
    credits: true,
    missing: 'workflow_not_found',
  });
}, 300_000);
