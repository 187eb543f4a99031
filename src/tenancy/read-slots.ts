import { availableParallelism } from 'node:os';
import { ActiveKeys } from '../platform/concurrency/active-keys.ts';
import { FairSemaphore } from '../platform/concurrency/fair-semaphore.ts';
import { unavailable } from '../platform/errors.ts';
import type { TenantKey } from '../platform/security/tenant-key.ts';

export interface ReadSlotsPolicy {
  /** Reads of an organization that are answered at the same time, while it is alone in this process. */
  alone: number;
  /** Reads of all organizations that are answered at the same time; each organization has at least one. */
  together: number;
  /** Reads of an organization that may wait. */
  maxWaiting: number;
  maxWaitMs: number;
  /** How long after its last read an organization counts as active. */
  rememberMs: number;
}

const defaultPolicy: ReadSlotsPolicy = {
  alone: 64,
  together: availableParallelism(),
  maxWaiting: 1_000,
  maxWaitMs: 10_000,
  rememberMs: 1_000,
};

const late = () => unavailable('The answer');

/**
 * Shares the main thread between the reads of organizations. A read takes it for milliseconds; without slots the read of
 * one organization would wait for each of the many that another sends at once.
 */
export class ReadSlots {
  readonly #policy: ReadSlotsPolicy;
  readonly #semaphore: FairSemaphore<TenantKey>;

  constructor(policy: ReadSlotsPolicy = defaultPolicy) {
    this.#policy = policy;
    this.#semaphore = new FairSemaphore(policy, new ActiveKeys(policy.rememberMs));
  }

  /**
   * Waits for a slot of an organization.
   * @returns releases the slot; further calls do nothing
   * @throws AppError service_unavailable when none is free in time, or too many reads wait
   */
  acquire(key: TenantKey): Promise<() => void> {
    if (!this.#semaphore.canEnqueue(key)) return Promise.reject(late());
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(late());
    }, this.#policy.maxWaitMs).unref();
    void this.#semaphore.run(key, async () => {
      clearTimeout(timer);
      if (!isLate) await new Promise<void>((release) => resolve(release));
    });
    return promise;
  }
}
