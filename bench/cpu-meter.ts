import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** /proc counts in ticks of 10 ms, on every architecture that Node runs on. */
const tickMs = 10;

interface ProcessTimes {
  parent: number;
  ownMs: number;
  /** CPU time of child processes that have ended and were waited for. */
  reapedMs: number;
}

/** Long enough for meaningful tick counts, and for work of the previous round to end. */
const calmSampleMs = 300;

/** CPU time used so far, in ms. */
export interface CpuReading {
  at: number;
  byName: Map<string, number>;
  /** CPU time of everything on the machine. */
  machineMs: number;
}

/** The CPU time used in an interval. */
export interface CpuCost {
  /** By process, in ms. */
  byName: Map<string, number>;
  /** Cores used by other processes in the interval. */
  otherCores: number;
}

/**
 * Reads the CPU time of named processes with all their descendants, and of this process. Without /proc nothing is measured.
 */
export class CpuMeter {
  readonly #roots = new Map<string, number>();
  #patienceLeftMs = 30_000;

  watch(name: string, pid: number): void {
    this.#roots.set(name, pid);
  }

  unwatch(name: string): void {
    this.#roots.delete(name);
  }

  read(): CpuReading | undefined {
    const processes = readProcesses();
    const self = processes?.get(process.pid);
    if (!processes || !self) return undefined;
    // Everything we start is a child of ours, so only the ones that ended count with us.
    const byName = new Map([['driver', self.ownMs + self.reapedMs]]);
    for (const [name, pid] of this.#roots) byName.set(name, treeMs(processes, pid));
    return { at: performance.now(), byName, machineMs: readMachineMs() };
  }

  /**
   * Waits until other processes use fewer cores than the limit, or until the time is over. All waits of a bench run together
   * take at most half a minute.
   */
  async waitForCalm(otherCores: number, patienceMs: number): Promise<void> {
    const from = performance.now();
    const until = from + Math.min(patienceMs, this.#patienceLeftMs);
    let last = this.read();
    do {
      await sleep(calmSampleMs);
      const next = this.read();
      const cost = cpuBetween(last, next);
      last = next;
      if (!cost || cost.otherCores < otherCores) break;
    } while (performance.now() < until);
    this.#patienceLeftMs -= Math.max(0, performance.now() - from - calmSampleMs);
  }
}

/** What was used between two readings. */
export function cpuBetween(from: CpuReading | undefined, to: CpuReading | undefined): CpuCost | undefined {
  if (!from || !to) return undefined;
  const byName = new Map([...to.byName].map(([name, ms]) => [name, ms - (from.byName.get(name) ?? 0)]));
  const ours = [...byName.values()].reduce((sum, ms) => sum + ms, 0);
  const otherMs = to.machineMs - from.machineMs - ours;
  return { byName, otherCores: Math.max(0, otherMs / (to.at - from.at)) };
}

function readProcesses(): Map<number, ProcessTimes> | undefined {
  const processes = new Map<number, ProcessTimes>();
  try {
    for (const name of readdirSync('/proc')) {
      const times = /^\d+$/.test(name) ? readTimes(name) : undefined;
      if (times) processes.set(Number(name), times);
    }
  } catch {
    return undefined;
  }
  return processes;
}

function readTimes(pid: string): ProcessTimes | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold spaces; what follows the last bracket begins with field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = (field: number) => Number(fields[field - 3]) * tickMs;
    return { parent: Number(fields[1]), ownMs: ticks(14) + ticks(15), reapedMs: ticks(16) + ticks(17) };
  } catch {
    // It ended between the listing and here.
    return undefined;
  }
}

function treeMs(processes: Map<number, ProcessTimes>, root: number): number {
  const times = processes.get(root);
  if (!times) return 0;
  let sum = times.ownMs + times.reapedMs;
  for (const [pid, { parent }] of processes) if (parent === root) sum += treeMs(processes, pid);
  return sum;
}

function readMachineMs(): number {
  const [total = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  // user, nice, system, idle, iowait, irq, softirq, steal
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = total
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * tickMs;
}
