import { readFileSync } from 'node:fs';

const SHELLS = new Set(['sh', 'dash', 'bash', 'ash', 'zsh', 'ksh']);
const POLL_MS = 300;

/**
 * Calls back once when the parent process has ended: npm does not send a signal when it is killed. npm can run scripts
 * through a shell, so the parent of a shell is watched too.
 * Returns a function that ends the watch.
 */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  const shell = SHELLS.has(readProcess(parent)?.name ?? '');
  const grandparent = shell ? readProcess(parent)?.parent : undefined;
  const timer = setInterval(() => {
    const same = process.ppid === parent && (grandparent === undefined || readProcess(parent)?.parent === grandparent);
    if (same) return;
    clearInterval(timer);
    onGone();
  }, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Name and parent of a process. Only on Linux. */
function readProcess(pid: number): { name: string; parent: number } | undefined {
  try {
    const [, name = '', parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { name, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
