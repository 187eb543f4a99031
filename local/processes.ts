import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process as recorded in a file. `startedAt` distinguishes it from a later process with the same pid. */
export interface ProcessRecord {
  pid: number;
  startedAt: string;
}

export interface StopOptions {
  /** Signals in order, with the milliseconds to wait before the next one is sent. */
  steps: { signal: NodeJS.Signals; waitMs: number }[];
  /** Send the last signal to the whole process group, which the process must lead. */
  groupAtLast?: boolean;
}

/** TERM, then KILL to the whole group after `waitMs`. */
export function termThenKill(waitMs: number): StopOptions {
  return {
    steps: [
      { signal: 'SIGTERM', waitMs },
      { signal: 'SIGKILL', waitMs: 5000 },
    ],
    groupAtLast: true,
  };
}

/** The record of a running process; undefined when no process has this pid, or only a zombie. */
export function recordProcess(pid: number): ProcessRecord | undefined {
  const startedAt = process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Whether the recorded process still runs. Another process with the same pid does not count. */
export function isRunning(record: ProcessRecord): boolean {
  return recordProcess(record.pid)?.startedAt === record.startedAt;
}

/**
 * Sends the signals of `options` in order until the recorded process has ended. Throws if it still runs after all of
 * them.
 */
export async function stopProcess(record: ProcessRecord, options: StopOptions): Promise<void> {
  for (const [index, { signal, waitMs }] of options.steps.entries()) {
    if (!isRunning(record)) return;
    const toGroup = options.groupAtLast === true && index === options.steps.length - 1;
    sendSignal(record.pid, signal, toGroup);
    if (await isGoneWithin(record, waitMs)) return;
  }
  throw new Error(`Process ${record.pid} did not end, even after ${options.steps.at(-1)?.signal ?? 'waiting'}.`);
}

/** Waits at most `ms` milliseconds for the recorded process to end. @returns whether it has ended */
export async function isGoneWithin(record: ProcessRecord, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (isRunning(record)) {
    if (performance.now() >= deadline) return false;
    await delay(20);
  }
  return true;
}

function sendSignal(pid: number, signal: NodeJS.Signals, toGroup: boolean): void {
  try {
    process.kill(toGroup ? -pid : pid, signal);
  } catch (error) {
    // The process does not lead a group, or has just ended: signal only the process.
    if (toGroup) sendSignal(pid, signal, false);
    else if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function linuxStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses can contain spaces. Fields 3 (state) to 22 (start, in ticks since boot) follow the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    if (state === undefined || start === undefined || 'ZX'.includes(state)) return undefined;
    // Ticks are counted from boot, so the id of the boot is recorded too.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${start}`;
  } catch {
    return undefined;
  }
}

function psStart(pid: number): string | undefined {
  try {
    const [state, ...start] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state === undefined || state === '' || state.startsWith('Z') ? undefined : start.join(' ');
  } catch {
    return undefined;
  }
}
