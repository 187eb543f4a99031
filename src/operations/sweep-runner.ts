import { clock } from '../platform/clock.ts';
import { isDatabaseUnavailable } from '../platform/database/database-errors.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sweep } from '../platform/parts/part.ts';
import type { SweepResult, TickArgs } from '../temporal/contracts/housekeeping.ts';

/**
 * How long a tick waits for its sweeps. A longer sweep continues in this process, is not started a second time and is
 * reported by a later tick: a sweep that hangs delays no other.
 */
const patienceMs = 10_000;

const causeOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * Runs the sweeps that are due. Each process remembers when it last ran a sweep and runs what it has not run yet: after
 * a restart it runs each sweep once, and with several processes some sweeps run more often than their interval. Both
 * are harmless, and a missed tick never skips a sweep for hours.
 */
export class SweepRunner {
  readonly #sweeps: readonly Sweep[];
  readonly #log: Log;
  readonly #now: () => number;
  readonly #latest = new Map<string, SweepResult>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(sweeps: readonly Sweep[], log: Log, now: () => number = clock.now) {
    this.#sweeps = sweeps;
    this.#log = log;
    this.#now = now;
  }

  /** @returns the latest result of every sweep */
  async tick({ all, tickMs }: TickArgs, waitMs = patienceMs): Promise<SweepResult[]> {
    const due = this.#sweeps.filter((sweep) => all || this.#isDue(sweep, tickMs));
    const ended = Promise.all(due.map((sweep) => this.runOne(sweep)));
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    await Promise.race([ended, waited]);
    clearTimeout(timer);
    return this.#sweeps.map(({ name }) => this.#latest.get(name)!);
  }

  /** Runs one sweep now, unless it is running. Resolves when it has ended. */
  runOne(sweep: Sweep): Promise<void> {
    return this.#running.get(sweep.name) ?? this.#start(sweep);
  }

  /** Resolves when no sweep runs in this process. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** A failed sweep is due at the next tick. Half a tick of tolerance, because ticks are never exactly on time. */
  #isDue({ name, everyMs }: Sweep, tickMs: number): boolean {
    const latest = this.#latest.get(name);
    if (!latest || latest.status === 'failed') return true;
    return Date.parse(latest.startedAt) + everyMs <= this.#now() + tickMs / 2;
  }

  #start(sweep: Sweep): Promise<void> {
    const { name } = sweep;
    const startedAt = new Date(this.#now()).toISOString();
    const before = this.#latest.get(name);
    this.#latest.set(name, { name, startedAt, status: 'running' });
    const running = this.#run(sweep, startedAt, before?.failure).then((result) => {
      this.#latest.set(name, result);
      this.#running.delete(name);
    });
    this.#running.set(name, running);
    return running;
  }

  /** A failure that persists is logged once: some sweeps run every few seconds. */
  async #run({ name, run }: Sweep, startedAt: string, earlierFailure?: string): Promise<SweepResult> {
    const began = performance.now();
    const ended = () => ({ name, startedAt, durationMs: Math.round(performance.now() - began) });
    try {
      const changed = await run();
      const result = { ...ended(), status: 'done' as const, changed };
      if (changed > 0) this.#log.info({ sweep: name, changed, durationMs: result.durationMs }, 'sweep done');
      return result;
    } catch (error) {
      const failure = causeOf(error);
      // A database that is busy or away is no fault of the sweep, which runs again.
      const level = isDatabaseUnavailable(error) ? 'warn' : 'error';
      if (failure !== earlierFailure) this.#log[level]({ err: error, sweep: name }, 'sweep failed');
      return { ...ended(), status: 'failed', failure };
    }
  }
}
