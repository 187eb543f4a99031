import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLocalSettings } from '../../src/platform/env.ts';
import type { JestOutput } from './second-look.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

const { parentEnvironment } = readLocalSettings();
const jest = join(root, 'node_modules/jest/bin/jest.js');

export interface JestRun {
  status: number;
  /** Absent if Jest did not get as far as to write its results. */
  output?: JestOutput;
  /** Jest had to be ended after its time limit. */
  hung: boolean;
}

export interface RunOptions {
  maxMinutes: number;
  /**
   * Where the clock of all processes begins, such as `2028-02-29 23:59:00` in UTC. Temporal's server keeps the real time.
   * Needs Debian's `faketime`.
   */
  at?: string | undefined;
}

/** Runs Jest in a process of its own, and prints what it prints. */
export async function runJest(args: string[], { maxMinutes, at }: RunOptions): Promise<JestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-results-'));
  const file = join(folder, 'results.json');
  const clock = at ? ['faketime', '--exclude-monotonic', '-f', `@${at}`] : [];
  const [program, ...words] = [...clock, process.execPath, jest, ...args, '--json', `--outputFile=${file}`];
  const child = spawn(program!, words, {
    cwd: root,
    // With `--json` Jest repeats its results on the standard output.
    stdio: ['inherit', 'ignore', 'inherit'],
    env: {
      ...parentEnvironment,
      ...(at && { TZ: 'UTC' }),
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
      NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    },
  });
  let hung = false;
  const limit = setTimeout(() => {
    hung = true;
    child.kill('SIGKILL');
  }, maxMinutes * 60_000);
  const [code] = await once(child, 'exit');
  clearTimeout(limit);
  const output = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as JestOutput) : undefined;
  rmSync(folder, { recursive: true });
  return { status: code ?? 1, ...(output && { output }), hung };
}

/** Keeps every processor busy while `work` runs, as on a laptop that does something else. */
export async function besideBusyLoops<Result>(work: () => Promise<Result>): Promise<Result> {
  const loops: ChildProcess[] = Array.from({ length: availableParallelism() }, () =>
    // A loop ends with this process, however that ends.
    spawn(process.execPath, ['-e', 'const parent = process.ppid; while (process.ppid === parent);'], {
      stdio: 'ignore',
    }),
  );
  try {
    return await work();
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
}
