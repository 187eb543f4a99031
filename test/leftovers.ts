import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isGoneWithin, type ProcessRecord, recordProcess } from '../local/processes.ts';

/** Processes that work in a folder, or have it in their arguments or environment. Only Linux can list them. */
export function processesOf(folder: string): ProcessRecord[] {
  if (process.platform !== 'linux') return [];
  const mentions = (pid: string) => {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)) return true;
      return ['cmdline', 'environ'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(folder));
    } catch {
      // Gone, or not ours to look at.
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && mentions(name))
    .flatMap((pid) => recordProcess(Number(pid)) ?? []);
}

function signal(records: ProcessRecord[], name: NodeJS.Signals): void {
  for (const { pid } of records) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended by itself.
    }
  }
}

/**
 * Ends everything that runs in a folder or for it: the rest of a run, whichever process started it. PostgreSQL gets the time
 * to end its own processes and to give its memory back.
 */
export async function endProcessesOf(folder: string): Promise<void> {
  const isPostgres = ({ pid }: ProcessRecord) => /\/postgres\0-D\0/.test(commandOf(pid));
  const found = processesOf(folder);
  const servers = found.filter(isPostgres);
  signal(servers, 'SIGQUIT');
  signal(
    found.filter((one) => !servers.includes(one) && !commandOf(one.pid).startsWith('postgres:')),
    'SIGKILL',
  );
  await Promise.all(servers.map((one) => isGoneWithin(one, 5_000)));
  for (let left = processesOf(folder); left.length > 0; left = processesOf(folder)) {
    signal(left, 'SIGKILL');
    await Promise.all(left.map((one) => isGoneWithin(one, 1_000)));
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
