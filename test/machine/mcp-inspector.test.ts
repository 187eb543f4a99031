import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fixedTools } from '../../src/automation/core/mcp-tools.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { greet } from '../mcp/scene.ts';
import type { Json } from '../openapi/document.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';

const run = promisify(execFile);
const inspector = '@modelcontextprotocol/inspector@2.12.0';

let folder: string;
let product: StartedProduct;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-inspector-'));
  await writeFile(join(folder, 'package.json'), '{"private": true}');
  const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', ...options, inspector], { cwd: folder, env: shellEnvironment() });
  product = await sharedProduct();
  await makeWorkflow(product.api, { ...greet, mcp: { enabled: true, name: 'inspected' } });
}, 300_000);
afterAll(async () => {
  await product.close();
  await rm(folder, { recursive: true, force: true });
});

/** What the command line of the inspector prints. @throws when it fails */
async function inspect(era: string, ...args: string[]): Promise<Json> {
  const program = join(folder, 'node_modules/.bin/mcp-inspector');
  const server = ['--cli', `${product.process.api}/mcp`, '--transport', 'http', '--protocol-era', era];
  const key = ['--header', `Authorization: Bearer ${product.tenant.testKey}`, '--stored-auth-only'];
  const all = [program, ...server, ...args, '--format', 'json', '--quiet', ...key];
  const { stdout } = await run(process.execPath, all, { env: { ...shellEnvironment(), HOME: folder } });
  return JSON.parse(stdout).result;
}

test.each(['legacy', 'modern'])('the inspector lists portable tools and calls them, in the %s era', async (era) => {
  const { tools } = await inspect(era, '--method', 'tools/list', '--strict');
  const names = tools.map(({ name }: Json) => name);
  expect(names.slice(0, fixedTools.length)).toEqual([...fixedTools]);
  expect(names).toContain('inspected');
  const call = ['--method', 'tools/call', '--tool-name', 'inspected', '--tool-args-json'];
  const result = await inspect(era, ...call, '{"who": "Ada"}');
  expect(result).toMatchObject({ structuredContent: { greeting: 'Hello Ada', times: 1 } });
});
