import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ProcessTransport } from '../../src/tools/local/process-transport.ts';
import { type ProcessLimits, ServerProcess } from '../../src/tools/local/server-process.ts';
import { AnswerTooComplex, AnswerTooLarge } from '../../src/tools/tool.ts';
import { until } from '../until.ts';

let folder: string;
const started: ServerProcess[] = [];
const project = join(import.meta.dirname, '../..');
const programs = join(import.meta.dirname, 'programs');
const local = join(project, 'src/tools/local');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atelier-server-process-'));
});
afterAll(async () => {
  for (const one of started) one.kill();
  await rm(folder, { recursive: true });
});

const limits: ProcessLimits = { heapMb: 96, residentMb: 200, cpuSeconds: 2, openFiles: 64, fileBytes: 1024 * 1024 };

async function start(): Promise<{ process: ServerProcess; ask(word: string): Promise<unknown> }> {
  const program = { module: join(programs, 'attacks.ts'), args: [], env: {}, folder };
  const readable = [`${programs}/*`, `${local}/*`, join(project, 'package.json')];
  const process = await ServerProcess.start({ ...program, readable, before: [join(local, 'no-network.ts')] }, limits);
  started.push(process);
  const lines = createInterface({ input: process.child.stdout });
  return {
    process,
    async ask(word) {
      process.child.stdin.write(`${word}\n`);
      const line = await Promise.race([once(lines, 'line'), process.ended.then(() => ['"ended"'])]);
      return JSON.parse(line[0] as string);
    },
  };
}

test('a process sees and does nothing outside its folder', async () => {
  const { ask, process: of } = await start();
  expect(
    Object.keys((await ask('environment')) as object).filter((name) => !/^(PWD|SHLVL|_|OLDPWD)$/.test(name)),
  ).toEqual([]);
  for (const word of ['read', 'above', 'write', 'start', 'worker', 'connect']) {
    expect({ word, said: await ask(word) }).toEqual({
      word,
      said: expect.stringMatching(/^refused: |permission|denied/i),
    });
  }
  expect(await ask('own')).toBe('done');
  expect(of.isAlive).toBe(true);
});

test.each(['hog', 'spin', 'large'])('a process that takes too much (%s) is ended', async (word) => {
  const { ask, process: of } = await start();
  expect(await ask(word)).toMatch(/^ended|^refused/);
  if (word === 'large') return;
  await of.ended;
  expect(of.isAlive).toBe(false);
});

test.each([
  ['never stops to write', 'pour', AnswerTooLarge],
  ['writes lists in lists', 'nest', AnswerTooComplex],
  ['writes more objects than any server may', 'fill', AnswerTooComplex],
])('a process that %s is ended', async (_, word, failure) => {
  const { process: of } = await start();
  const transport = new ProcessTransport(of);
  await transport.start();
  of.child.stdin.write(`${word}\n`);
  await of.ended;
  expect(transport.failure).toBeInstanceOf(failure);
});

test('a process ends with the one that started it', async () => {
  const script = `
    import { ServerProcess } from ${JSON.stringify(join(local, 'server-process.ts'))};
    const program = ${JSON.stringify({ module: join(programs, 'attacks.ts'), args: [], env: {}, folder, before: [] })};
    const readable = ${JSON.stringify([`${programs}/*`, join(project, 'package.json')])};
    const one = await ServerProcess.start({ ...program, readable }, ${JSON.stringify(limits)});
    one.child.stdout.once('data', () => console.log(one.child.pid));
    one.child.stdin.write('own\\n');
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(String((await once(parent.stdout, 'data'))[0]));
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  expect(isThere()).toBe(true);
  parent.kill('SIGKILL');
  await until('it has ended too', async () => !isThere());
});

test('a process for which no descriptors are left is not started, and the next one is as isolated as any', async () => {
  const script = `
    import { closeSync, openSync, readlinkSync } from 'node:fs';
    import { ServerProcess } from ${JSON.stringify(join(local, 'server-process.ts'))};
    const program = ${JSON.stringify({ module: join(programs, 'attacks.ts'), args: [], env: {}, folder, before: [] })};
    const readable = ${JSON.stringify([`${programs}/*`, join(project, 'package.json')])};
    const start = () => ServerProcess.start({ ...program, readable }, ${JSON.stringify(limits)});
    const taken = [];
    try {
      for (;;) taken.push(openSync('/dev/null'));
    } catch {}
    const code = await start().catch(({ code }) => code);
    for (const descriptor of taken) closeSync(descriptor);
    console.log(code);
    const next = await start();
    next.child.stdin.write('own\\n');
    await new Promise((resolve) => next.child.stdout.once('data', resolve));
    const networkOf = (pid) => readlinkSync('/proc/' + pid + '/ns/net');
    console.log(networkOf(next.child.pid) === networkOf('self'));
    next.kill();`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const asking = spawn('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, [code]] = await Promise.all([text(asking.stdout), once(asking, 'exit')]);
  const kernel = spawnSync('/usr/bin/unshare', ['--user', '--map-current-user', '--net', '/bin/true']);
  expect([said, code]).toEqual([`EMFILE\n${kernel.status !== 0}\n`, 0]);
});
