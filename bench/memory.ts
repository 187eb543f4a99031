import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProcessMemory {
  /** What runs, and how many processes it is. */
  name: string;
  /** Resident, in MB. Of several processes of one program the sum, in which what they share counts again and again. */
  resident: number;
  /** In MB, with pages that several processes share counted in each by its share. */
  proportional: number;
}

interface Seen {
  pid: number;
  parent: number;
  command: string[];
}

/** Memory of a process and of everything below it, by program. Empty where there is no /proc. */
export function memoryBelow(root: number): ProcessMemory[] {
  const processes = readProcesses();
  const byName = new Map<string, number[]>();
  const add = ({ pid, command }: Seen) => {
    const name = programName(command);
    byName.set(name, [...(byName.get(name) ?? []), pid]);
    for (const child of processes.filter(({ parent }) => parent === pid)) add(child);
  };
  const top = processes.find(({ pid }) => pid === root);
  if (top) add(top);
  return [...byName].map(([name, pids]) => ({
    name: pids.length > 1 ? `${name} (${pids.length} processes)` : name,
    resident: pids.reduce((sum, pid) => sum + readMegabytes(pid, 'status', 'VmRSS'), 0),
    proportional: pids.reduce((sum, pid) => sum + readMegabytes(pid, 'smaps_rollup', 'Pss'), 0),
  }));
}

/** Where Node listens for debuggers once its process gets SIGUSR1. */
const inspector = 'http://127.0.0.1:9229/json';

async function openInspector(pid: number): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  for (let attempt = 0; attempt < 50; attempt++) {
    await sleep(100);
    const answer = await fetch(inspector).catch(() => undefined);
    const [target] = answer ? ((await answer.json()) as { webSocketDebuggerUrl: string }[]) : [];
    if (target) return target.webSocketDebuggerUrl;
  }
  throw new Error('The inspector of the process did not open.');
}

/** Commands of a debugger to one process, over its socket. */
class Debugger {
  readonly #socket: WebSocket;
  /** What has been asked, by its number. */
  readonly #asked = new Map<number, () => void>();
  readonly threads: string[] = [];

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(data)));
  }

  opened(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#socket.addEventListener('open', resolve);
      this.#socket.addEventListener('error', reject);
    });
  }

  /** @param thread a worker thread instead of the first one */
  ask(method: string, params: object = {}, thread?: string): Promise<void> {
    const id = this.#asked.size + 1;
    const message = { id, method, params };
    const inThread = { sessionId: thread, message: JSON.stringify(message) };
    const sent =
      thread === undefined ? message : { id: -id, method: 'NodeWorker.sendMessageToWorker', params: inThread };
    this.#socket.send(JSON.stringify(sent));
    return new Promise((resolve) => this.#asked.set(id, resolve));
  }

  close(): void {
    this.#socket.close();
  }

  #receive({ id, method, params }: { id?: number; method?: string; params?: { sessionId: string; message: string } }) {
    if (method === 'NodeWorker.attachedToWorker') this.threads.push(params!.sessionId);
    else if (method === 'NodeWorker.receivedMessageFromWorker') this.#receive(JSON.parse(params!.message));
    else if (id !== undefined) this.#asked.get(id)?.();
  }
}

/**
 * Lets all threads of a Node process collect their garbage, which can be most of its memory after much work: V8 does so when
 * it needs room, and not while nothing happens.
 */
export async function collectGarbage(pid: number): Promise<void> {
  const connection = new Debugger(await openInspector(pid));
  await connection.opened();
  await connection.ask('NodeWorker.enable', { waitForDebuggerOnStart: false });
  for (const thread of [undefined, ...connection.threads]) {
    await connection.ask('HeapProfiler.collectGarbage', {}, thread);
  }
  connection.close();
}

/** `node local/start.ts`, `temporal server`, `postgres`: the program, and its script where it runs one. */
function programName([program = '', first = '']: string[]): string {
  const base = program.split(':')[0]!.split('/').at(-1)!;
  if (base !== 'node') return base;
  return `node ${first.split('/').slice(-2).join('/')}`;
}

function readProcesses(): Seen[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  } catch {
    return [];
  }
}

function readProcess(pid: number): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    return { pid, parent, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') };
  } catch {
    return undefined;
  }
}

/** 0 where the system does not let us see it. */
function readMegabytes(pid: number, file: 'status' | 'smaps_rollup', field: string): number {
  try {
    const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'));
    return Number(kilobytes?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
