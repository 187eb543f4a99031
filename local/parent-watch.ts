import { readFileSync } from 'node:fs';

const SHELLS = new Set(['sh', 'dash', 'bash', 'ash', 'zsh', 'ksh']);
const POLL_MS = 300;

/**
 * Calls back once when the process that started us is gone: npm killed with -9 sends no signal. npm may stand behind
 * the shell it runs scripts with, so a shell's parent is watched too.
 * Answers a function that ends the watch.
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

/** Name and parent of a process; only Linux tells. */
function readProcess(pid: number): { name: string; parent: number } | undefined {
  try {
    const [, name = '', parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { name, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
