import type { Tenant } from '../platform/tenant.ts';

/** Every duration is a value, so that tests take seconds. */
interface DirectWorkPolicy {
  /** Jobs at the same time: of one organization, and in this process. Beyond these limits the workflow does the work. */
  ofOrganization: number;
  ofProcess: number;
  /** A process that has not renewed its lease for this long counts as dead, and the workflow does the work. */
  leaseMs: number;
  renewEveryMs: number;
  /** How long a process that stops lets its work continue. Then the workflow does it, in another process. */
  drainMs: number;
}

export const defaultDirectWorkPolicy: DirectWorkPolicy = {
  ofOrganization: 16,
  ofProcess: 64,
  leaseMs: 10_000,
  renewEveryMs: 3_000,
  drainMs: 10_000,
};

/** How long a result is kept for its workflow. */
const keptMs = 60_000;

/**
 * The work that this process begins right after it created a job, while Temporal starts the workflow. The row is committed
 * with a lease, so that the workflow waits, wherever it is executed; in this process it takes the result from here. When the
 * process dies the lease expires, and the workflow does the work.
 */
export class DirectWork<Result> {
  readonly policy: DirectWorkPolicy;
  readonly #underWay = new Map<string, number>();
  readonly #results = new Map<string, Promise<Result>>();
  #size = 0;

  constructor(policy: DirectWorkPolicy = defaultDirectWorkPolicy) {
    this.policy = policy;
  }

  /** How many have entered. */
  get size(): number {
    return this.#size;
  }

  /** @returns a function that leaves again; undefined when a limit is reached */
  enter({ organizationId }: Pick<Tenant, 'organizationId'>): (() => void) | undefined {
    const own = this.#underWay.get(organizationId) ?? 0;
    if (own >= this.policy.ofOrganization || this.#size >= this.policy.ofProcess) return undefined;
    this.#underWay.set(organizationId, own + 1);
    this.#size++;
    return () => {
      const left = this.#underWay.get(organizationId)! - 1;
      if (left > 0) this.#underWay.set(organizationId, left);
      else this.#underWay.delete(organizationId);
      this.#size--;
    };
  }

  /** Keeps the result of a job for its workflow. @param result after a rejection the workflow tries again */
  add(id: string, result: Promise<Result>): void {
    this.#results.set(id, result);
    const forget = () => void setTimeout(() => this.#results.delete(id), keptMs).unref();
    result.then(forget, forget);
  }

  /** @returns undefined where this process has not begun it */
  find(id: string): Promise<Result> | undefined {
    return this.#results.get(id);
  }

  /**
   * Works while it renews the lease of a job.
   * @param lease.hold extends the lease by so many milliseconds; false: the job has ended
   * @param lease.draining aborted when the process begins to stop
   * @param work returns after how many milliseconds the workflow may do the work; undefined: the job has ended
   */
  async underLease(
    { hold, draining }: { hold(ms: number): Promise<boolean>; draining: AbortSignal },
    work: (signal: AbortSignal) => Promise<number | undefined>,
  ): Promise<void> {
    const { leaseMs, renewEveryMs, drainMs } = this.policy;
    const stop = new AbortController();
    let renewed = Promise.resolve();
    const renew = async () => {
      // While the database is unavailable the lease may expire, and the workflow works too, as after a lost heartbeat.
      const isOpen = await hold(leaseMs).catch(() => true);
      if (!isOpen) stop.abort(new Error('The job has ended.'));
    };
    const renewal = setInterval(() => {
      renewed = renewed.then(renew);
    }, renewEveryMs);
    let stopping: NodeJS.Timeout | undefined;
    const drain = () => {
      stopping = setTimeout(() => stop.abort(new Error('The process is ending.')), drainMs);
    };
    if (draining.aborted) drain();
    else draining.addEventListener('abort', drain);
    try {
      const continueInMs = await work(stop.signal);
      if (continueInMs === undefined) return;
      clearInterval(renewal);
      // A renewal that is under way would extend the lease again.
      await renewed;
      await hold(continueInMs).catch(() => {});
    } finally {
      clearInterval(renewal);
      clearTimeout(stopping);
      draining.removeEventListener('abort', drain);
    }
  }
}
