import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { recordProcess, type StopOptions, stopProcess } from '../processes.ts';

/** SIGINT is PostgreSQL's fast shutdown (open transactions roll back), SIGQUIT its immediate one (recovery at the next start). */
export const FAST_SHUTDOWN: StopOptions = {
  steps: [
    { signal: 'SIGINT', waitMs: 20_000 },
    { signal: 'SIGQUIT', waitMs: 5000 },
    { signal: 'SIGKILL', waitMs: 5000 },
  ],
};

/** For a second Ctrl-C: the same signals with shorter delays. */
export const HASTY_SHUTDOWN: StopOptions = { steps: FAST_SHUTDOWN.steps.map((step) => ({ ...step, waitMs: 3000 })) };

/**
 * Prepares a data directory for a start. Shuts down a server that still uses it, and removes a `postmaster.pid` whose pid
 * now belongs to another program, because PostgreSQL would refuse to start.
 */
export async function stopOrphan(directory: string, log: (line: string) => void): Promise<void> {
  const pid = readPostmasterFile(directory)?.pid;
  const record = pid === undefined ? undefined : recordProcess(pid);
  if (record === undefined) return;
  if (isServerOf(directory, record.pid)) {
    log(`PostgreSQL: stopping the server left running by an earlier start (process ${record.pid})`);
    await stopProcess(record, FAST_SHUTDOWN);
  } else {
    rmSync(join(directory, 'postmaster.pid'), { force: true });
  }
}

/** Process id and state ("starting", "ready", "stopping") from `postmaster.pid`, or undefined without a readable one. */
export function readPostmasterFile(directory: string): { pid: number; status: string } | undefined {
  try {
    const lines = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 0 ? { pid, status: (lines[7] ?? '').trim() } : undefined;
  } catch {
    return undefined;
  }
}

/** A server makes its data directory its working directory. */
function isServerOf(directory: string, pid: number): boolean {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).includes(directory);
    }
    const [working, data] = [statSync(`/proc/${pid}/cwd`), statSync(directory)];
    return working.dev === data.dev && working.ino === data.ino;
  } catch {
    return false;
  }
}
