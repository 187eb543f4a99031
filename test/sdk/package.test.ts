import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** A program of somebody who uses the package, in the strictest mode. */
const program = `
import { Atelier, AtelierError, type RunDetail, ValidationError, Webhooks, type WebhookEvent } from 'atelier-client';

const [baseUrl = '', apiKey = ''] = process.argv.slice(2);
const atelier = new Atelier({ apiKey, baseUrl, timeoutMs: 30_000 });
const { id } = await atelier.workflows.create({ name: 'Greeting', steps: [{ id: 'greet', type: 'prompt', prompt: 'Greet {{input}}.' }] });
const run: RunDetail | null = await atelier.workflows.run(id, { input: 'Ada', tags: ['first'] });
const seen: string[] = [];
for await (const found of atelier.runs.list({ tag: 'first', limit: 1 })) seen.push(found.status);
const failure: unknown = await atelier.workflows.create({ name: '' }).catch((error: unknown) => error);
const errors = failure instanceof ValidationError ? failure.errors.map(({ path }) => path) : [];
export function react(event: WebhookEvent): string | undefined {
  // The type of the event decides what its data is.
  if (event.type === 'workflow.run.completed') return event.data.workflowName.toUpperCase();
  if (event.type === 'booking.created') return event.data.id;
  return undefined;
}
const forged = await Webhooks.verify('{}', {}, 'whsec_eA==').catch((error: unknown) => (error instanceof AtelierError ? error.code : null));
// @ts-expect-error: a status that runs do not have
if (run?.status === 'DONE') throw new Error();
// @ts-expect-error: a body without a name
atelier.workflows.create.length > 9 && (await atelier.workflows.create({}));
console.log(JSON.stringify({ status: run?.status, seen, errors, forged }));
`;

let folder: string;
let tarball: { filename: string; size: number; files: { path: string }[] };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'client-package-'));
  const copied = join(folder, 'package');
  const isSource = (path: string) => !/\/(node_modules|dist|generator)(\/|$)/.test(path.slice(root.length));
  await cp(join(root, 'sdk/typescript'), copied, { recursive: true, filter: isSource });
  // The compiler that the package asks for is the project's own.
  const path = [join(root, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: folder };
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
  await writeFile(join(folder, 'program.mts'), program);
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
