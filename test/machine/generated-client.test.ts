import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { startProduct } from '../product.ts';

const run = promisify(execFile);

let product: Awaited<ReturnType<typeof startProduct>>;
let folder: string;
let document: string;

/** Runs a program in the folder of the client. Its output is in the error of one that fails. */
async function inFolder(program: string, args: string[]): Promise<string> {
  const { stdout } = await run(program, args, { cwd: folder, env: shellEnvironment() }).catch((error) => {
    throw new Error(`${args.join(' ')} failed: ${error.stdout}${error.stderr}`);
  });
  return stdout;
}

const node = (...args: string[]) => inFolder(process.execPath, args);

beforeAll(async () => {
  product = await startProduct();
  document = await (await fetch(`${product.process.api}/openapi.json`)).text();
  // A package of its own: the generator needs another version of TypeScript than the project has.
  folder = await mkdtemp(join(tmpdir(), 'generated-client-'));
  await cp(fileURLToPath(new URL('./generated-client/', import.meta.url)), folder, { recursive: true });
  await inFolder('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  await writeFile(join(folder, 'openapi.json'), document);
  await node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.d.ts');
  // A registry may be far away.
}, 600_000);
afterAll(async () => {
  await product.close();
  await rm(folder, { recursive: true, force: true });
});

test('a linter warns of nothing in the served document but of the missing licence', async () => {
  const problems = await lintFromString({ source: document, config: await createConfig({ extends: ['recommended'] }) });
  // `actions` is no id of an integration, and a consent of the sandbox is granted by a redirect.
  const isKnown = ({ ruleId, message }: { ruleId: string; message: string }) =>
    /ambiguous paths: .*integrations\/actions\//.test(message) || ruleId === 'operation-2xx-response';
  expect(problems.filter((one) => !isKnown(one)).map(({ ruleId }) => ruleId)).toEqual(['info-license']);
});

test('a generated client compiles in the strictest mode', async () => {
  await node('node_modules/typescript/bin/tsc', '--project', '.');
});

test('and what its types promise is what it gets', async () => {
  const seen = JSON.parse(await node('client.ts', product.process.api, product.tenant.testKey));
  expect(seen).toEqual({
    a: { created: true, status: 'COMPLETED', same: true, total: 1 },
    b: { created: 'active', status: 'completed', steps: ['say', 'again'] },
    webhooks: {
      events: ['workflow.run.completed', '*'],
      secret: 'whsec_',
      deliveries: [],
      removed: { deleted: true },
    },
    failures: { status: 404, code: 'workflow_not_found', inB: 'invalid_api_key' },
  });
});
