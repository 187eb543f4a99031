import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { shellEnvironment } from '../local-stack/stack-folder.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const generator = join(root, 'sdk/typescript/generator');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'typescript-client-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The files below a folder, with their text. */
async function filesBelow(path: string): Promise<Record<string, string>> {
  const names = (await readdir(path, { recursive: true })).filter((name) => /\.(ts|sha256)$/.test(name)).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), 'utf8')])),
  );
}

test('the generator makes the sources that are committed', async () => {
  const env = shellEnvironment();
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: generator, env });
  await run(process.execPath, ['generate.ts', join(folder, 'generated')], { cwd: generator, env });
  const committed = await filesBelow(join(root, 'sdk/typescript/src/generated'));
  expect(Object.keys(committed).length).toBeGreaterThan(60);
  expect(await filesBelow(join(folder, 'generated'))).toEqual(committed);
}, 300_000);

test('npm ci and its build make the package', async () => {
  const copied = join(folder, 'package');
  const isSource = (path: string) => !/\/(node_modules|dist|generator)(\/|$)/.test(path.slice(root.length));
  await cp(join(root, 'sdk/typescript'), copied, { recursive: true, filter: isSource });
  await run('sh', ['-c', 'npm ci --no-audit --no-fund && npm run build'], { cwd: copied, env: shellEnvironment() });
  const built = await run(
    process.execPath,
    [
      '-e',
      "import(process.argv[1]).then(({ Atelier }) => console.log(typeof new Atelier({ baseUrl: 'http://x' }).runs.wait))",
      join(copied, 'dist/index.js'),
    ],
    { cwd: copied },
  );
  expect(built.stdout).toBe('function\n');
}, 300_000);
