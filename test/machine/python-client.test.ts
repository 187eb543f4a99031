import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { sharedProduct } from '../product.ts';

const run = promisify(execFile);

let product: Awaited<ReturnType<typeof sharedProduct>>;
let folder: string;

/** Runs a program in the folder of the client, with the programs of its environment. Its output is in the error of one that fails. */
async function inFolder(program: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const shell = shellEnvironment();
  const env = { ...shell, PATH: [join(folder, 'environment/bin'), shell.PATH].join(delimiter) };
  return run(program, args, { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${program} ${args.join(' ')} failed: ${error.stdout}${error.stderr}`);
  });
}

beforeAll(async () => {
  product = await sharedProduct();
  folder = await mkdtemp(join(tmpdir(), 'python-client-'));
  await cp(fileURLToPath(new URL('./python-client/', import.meta.url)), folder, { recursive: true });
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${product.process.api}/openapi.json`)).text());
  await inFolder('python3', '-m', 'venv', 'environment');
  await inFolder('pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt');
  // A registry may be far away.
}, 600_000);
afterAll(async () => {
  await product.close();
  await rm(folder, { recursive: true, force: true });
});

test('the generated Python client lacks nothing of the document', async () => {
  const args = ['--path', 'openapi.json', '--config', 'config.yml', '--output-path', 'made', '--overwrite'];
  const { stdout, stderr } = await inFolder('openapi-python-client', 'generate', ...args);
  expect(`${stdout}${stderr}`.trim()).toBe('Generating made');
  await inFolder('mv', 'made/atelier_client', 'atelier_client');
}, 300_000);

test('its types allow one task of each feature, and the tasks succeed', async () => {
  await inFolder('mypy', '--strict', '--follow-imports=silent', 'tasks.py');
  const { stdout } = await inFolder('python', 'tasks.py', product.process.api, product.tenant.testKey);
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
