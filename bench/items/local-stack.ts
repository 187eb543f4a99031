import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readLocalSettings } from '../../src/platform/env.ts';
import type { Cleanup } from '../cleanup.ts';
import type { Finding, Item, Row } from '../item.ts';
import { memoryBelow } from '../memory.ts';

const program = fileURLToPath(new URL('../../local/start.ts', import.meta.url));
const warmStarts = 5;
/** From ready to the reading of memory: by then the garbage of the start is collected. */
const idleMs = 8_000;
const readyLimitMs = 120_000;

interface RunningStack {
  readyMs: number;
  pid: number;
  stop(): Promise<void>;
}

/** P10: how long a person waits for `npm start`, the second time and later, and the cost of the idle stack. */
export const localStack: Item = {
  name: 'P10',
  title: 'the local stack: start to ready, and memory at rest',
  needs: 'nothing',
  async run(cleanup) {
    const folder = mkdtempSync(join(tmpdir(), 'atelier-bench-'));
    cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
    const first = await startStack(folder, cleanup);
    await first.stop();
    const warm: number[] = [];
    let memory: Finding['rows'] = [];
    for (let start = 1; start <= warmStarts; start++) {
      const stack = await startStack(folder, cleanup);
      warm.push(stack.readyMs / 1000);
      if (start === warmStarts) memory = await memoryAtRest(stack.pid);
      await stack.stop();
    }
    const rows: Row[] = [
      { name: 'first start', unit: 's', values: [first.readyMs / 1000] },
      { name: 'later starts', unit: 's', values: warm },
      ...memory,
    ];
    return [{ rows, verdicts: [{ name: 'warm start to ready, s', values: warm, aim: { atMost: 5 } }] }];
  },
};

async function memoryAtRest(pid: number): Promise<Row[]> {
  await sleep(idleMs);
  const programs = memoryBelow(pid);
  const together = programs.reduce((sum, { proportional }) => sum + proportional, 0);
  return [
    ...programs.map(({ name, resident }) => ({ name: `resident: ${name}`, unit: 'MB', values: [resident] })),
    { name: 'together, shared pages once', unit: 'MB', values: [together] },
  ];
}

async function startStack(folder: string, cleanup: Cleanup): Promise<RunningStack> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...readLocalSettings().parentEnvironment,
      // Not as npm's child, whose end it would watch for.
      npm_lifecycle_event: undefined,
      ATELIER_DATA: join(folder, 'data'),
      PORT: '0',
      TEMPORAL_PORT: '0',
      TEMPORAL_UI_PORT: '0',
      POSTGRES_PORT: '0',
    },
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  cleanup.add(stop);
  const problem: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => problem.push(line));
  const ready = await Promise.race([
    readyLine(child),
    ended.then(() => undefined),
    sleep(readyLimitMs, undefined, { ref: false }),
  ]);
  if (ready === undefined) throw new Error(`The local stack did not start:\n${problem.slice(-20).join('\n')}`);
  return { readyMs: performance.now() - startedAt, pid: child.pid!, stop };
}

async function readyLine(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout! })) if (line.startsWith('{')) return line;
  return undefined;
}
