import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { DataFolder } from './data-folder.ts';
import { type KernelLock, tryLock } from './kernel-lock.ts';
import { FAST_SHUTDOWN } from './postgres/postgres-orphan.ts';
import { readJson, writePrivateJson } from './private-file.ts';
import {
  isRunning,
  type ProcessRecord,
  recordProcess,
  type StopOptions,
  stopProcess,
  termThenKill,
} from './processes.ts';

/** In the order in which they are stopped: each part depends on those after it. */
export const PARTS = ['app', 'temporal', 'postgres'] as const;
export type Part = (typeof PARTS)[number];

/** Recorded by the stack that uses a data folder, for later starts. */
export interface Holding {
  starter: ProcessRecord;
  state: 'running' | 'draining';
  processes: Partial<Record<Part, ProcessRecord>>;
}

/** Exclusive use of a data folder. */
interface Hold {
  /** Records a process, so that a later start can stop it if this one is killed. */
  record(part: Part, pid: number): void;
  /** Records that this stack is stopping, so that the next start waits for it. */
  setDraining(): void;
  /** Call when all processes that use the folder have ended. */
  release(): void;
}

interface HoldOptions {
  log: (line: string) => void;
  /** How long to wait for an earlier stack that is stopping. */
  waitMs?: number;
  signal?: AbortSignal;
}

/** The app drains within 40 s. PostgreSQL has signals of its own. */
const STOPPING: Record<Part, StopOptions> = {
  app: termThenKill(45_000),
  temporal: termThenKill(10_000),
  postgres: FAST_SHUTDOWN,
};

/**
 * Locks the data folder for this process. Fails while another stack uses it, waits while another stack is stopping, and
 * stops the processes that a killed stack left running.
 * Throws an error that names the other process.
 */
export async function holdDataFolder(folder: DataFolder, options: HoldOptions): Promise<Hold> {
  const lock = await waitForLock(folder, options);
  try {
    await stopLeftovers(folder, options);
    const starter = recordProcess(process.pid);
    if (starter === undefined) throw new Error('This process was not found in the process table.');
    const holding: Holding = { starter, state: 'running', processes: {} };
    const write = () => writePrivateJson(folder.holding, holding);
    write();
    return {
      record(part, pid) {
        const found = recordProcess(pid);
        if (found === undefined) return;
        holding.processes[part] = found;
        write();
      },
      setDraining() {
        holding.state = 'draining';
        write();
      },
      release() {
        rmSync(folder.holding, { force: true });
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function waitForLock(folder: DataFolder, { log, waitMs = 60_000, signal }: HoldOptions): Promise<KernelLock> {
  const started = performance.now();
  for (let logged = false; ; ) {
    const lock = tryLock(folder.lock);
    if (lock !== undefined) return lock;
    const waited = performance.now() - started;
    const written = readJson(folder.holding) as Holding | undefined;
    // The file can still contain the record of a dead process, until the new holder writes its own.
    const holder = written !== undefined && isRunning(written.starter) ? written : undefined;
    const patience = { draining: waitMs, running: 0, unknown: 2000 }[holder?.state ?? 'unknown'];
    if (waited >= patience) {
      const who = holder === undefined ? 'another process' : `process ${holder.starter.pid}`;
      const does = holder?.state === 'draining' ? `still has not stopped after ${waitMs / 1000} s` : 'already runs';
      throw new Error(
        `Atelier ${does} on ${folder.path} (${who}). Stop it first, or set ATELIER_DATA to another folder.`,
      );
    }
    if (!logged && holder !== undefined) {
      log(`Waiting for process ${holder.starter.pid}, which is still stopping`);
      logged = true;
    }
    await delay(50, undefined, { ...(signal && { signal }) });
  }
}

async function stopLeftovers(folder: DataFolder, { log, signal }: HoldOptions): Promise<void> {
  const processes = (readJson(folder.holding) as Holding | undefined)?.processes ?? {};
  const givenUp = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  // It may reject while it is not awaited.
  givenUp.catch(() => {});
  for (const part of PARTS) {
    const record = processes[part];
    if (record === undefined || !isRunning(record)) continue;
    log(`Stopping ${part}, left running by an earlier start (process ${record.pid})`);
    // If this is aborted, the remaining processes stay recorded for the next start.
    await Promise.race([stopProcess(record, STOPPING[part]), givenUp]);
  }
}
