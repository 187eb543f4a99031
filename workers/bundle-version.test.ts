import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runningServers } from '../test/servers.ts';
import { prepareBundle, versionOf } from './bundle.ts';
import { bundleSources } from './bundle-sources.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'atelier-sources-'));
  for (const part of ['src', 'workflows', 'activities', 'workers']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true }));

/** The version after a line was added to a file. */
async function versionAfterEdit(path: string): Promise<string> {
  const file = join(copy, path);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, `${text}\nexport const edited = 1;\n`);
  const version = await versionOf(copy);
  writeFileSync(file, text);
  return version;
}

test.each([
  'src/credits/core/started-units.ts',
  'src/automation/core/run-status.ts',
  'src/automation/runs/execute-run.ts',
  'activities/runs.ts',
  'workers/runs.ts',
])('an edit of %s, which no workflow imports, keeps the version', async (path) => {
  expect(await versionAfterEdit(path)).toBe(await versionOf(root));
});

test.each(['workflows/execute-run.ts', 'workflows/trace.ts', 'src/temporal/contracts/webhooks.ts'])(
  'an edit of %s makes a new version',
  async (path) => {
    expect(await versionAfterEdit(path)).not.toBe(await versionOf(root));
  },
);

test('the version covers every module of the product that webpack puts into the bundle, and the SDK', async () => {
  const { version, path } = await prepareBundle(runningServers().bundles);
  expect(version).toBe(await versionOf(root));
  const bundled = [...readFileSync(path, 'utf8').matchAll(/^\/\*\*\*\/ "\.\/((?!node_modules)[^"]+\.ts)"/gm)].map(
    ([, name]) => name!,
  );
  const covered = await bundleSources(root, ['workflows/index.ts', 'workflows/trace.ts']);
  expect(covered.filter((file) => file.endsWith('.ts'))).toEqual(bundled.sort());
  expect(covered).toContain('node_modules/@temporalio/workflow/package.json');
});
