import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { sharedProduct } from '../product.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;
let tarball: { filename: string; size: number; files: { path: string }[] };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'client-package-'));
  const copied = join(folder, 'package');
  const isSource = (path: string) => !/\/(node_modules|dist|generator)(\/|$)/.test(path.slice(root.length));
  await cp(join(root, 'sdk/typescript'), copied, { recursive: true, filter: isSource });
  // The compiler that the package asks for is the project's own.
  const env = {
    ...shellEnvironment(),
    PATH: [join(root, 'node_modules/.bin'), shellEnvironment().PATH].join(delimiter),
  };
  await run('npm', ['run', 'build'], { cwd: copied, env });
  const packed = await run('npm', ['pack', '--json'], { cwd: copied, env, maxBuffer: 16 * 1024 * 1024 });
  [tarball] = JSON.parse(packed.stdout);
  const installed = join(folder, 'node_modules/atelier-client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(copied, tarball.filename), '-C', installed, '--strip-components=1']);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the package has its code, its types and its words, in at most 250 kB', () => {
  expect(tarball.size).toBeLessThanOrEqual(250_000);
  const kinds = new Set(tarball.files.map(({ path }) => path.replace(/^.*?(?=(\.d)?\.\w+$)/, '')));
  expect([...kinds].toSorted()).toEqual(['.d.ts', '.js', '.json', '.md']);
});

test('a program that uses it compiles in the strictest mode, and does what its types say', async () => {
  await cp(fileURLToPath(new URL('./consumer/program.mts', import.meta.url)), join(folder, 'program.mts'));
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.mts'] }));
  await run(join(root, 'node_modules/.bin/tsc'), ['--project', folder]).catch(({ stdout }) => {
    throw new Error(stdout);
  });
  const product = await sharedProduct();
  const { stdout } = await run(process.execPath, [
    join(folder, 'program.mjs'),
    product.process.api,
    product.tenant.testKey,
  ]);
  await product.close();
  expect(JSON.parse(stdout)).toEqual({
    status: 'COMPLETED',
    seen: ['COMPLETED'],
    errors: ['name'],
    forged: 'invalid_signature',
  });
});
