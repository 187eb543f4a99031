/** How many attempts a process begins for organizations that have deliveries at the same time. */
interface DispatchRatePolicy {
  /** Attempts a second, shared equally by these organizations, or made by one while requests wait for runs. */
  perSecond: number;
  /** What an organization may begin at once: its attempts of this time. */
  burstMs: number;
  /** How long after its last attempt an organization counts among those that share. */
  rememberMs: number;
}

/** A fraction of one process's capacity, so that the work of others begins at once. */
export const defaultDispatchRate: DispatchRatePolicy = { perSecond: 400, burstMs: 50, rememberMs: 2_000 };

interface RateState {
  cameAt: number;
  /** The theoretical arrival time of the rate algorithm. */
  freeAt: number;
}

/**
 * Prevents an organization with fast receivers from filling a process with its attempts: slots alone cannot, because
 * they are free again at once. There is no limit while no other organization has deliveries and no request in this
 * process waits for a run. The generic cell rate algorithm (ITU-T I.371), as in admission.ts. Times are ms since the
 * epoch.
 * @typeParam Key of organizations: one that only a scope makes
 */
export class DispatchRate<Key extends string = string> {
  readonly #policy: DispatchRatePolicy;
  readonly #organizations = new Map<Key, RateState>();

  readonly #isAwaited: (withinMs: number) => boolean;

  /** @param isAwaited whether a request waited for a run within so many ms */
  constructor(
    policy: DispatchRatePolicy = defaultDispatchRate,
    isAwaited: (withinMs: number) => boolean = () => false,
  ) {
    this.#policy = policy;
    this.#isAwaited = isAwaited;
  }

  /** How many attempts the organization may begin now. */
  maxStarts(organization: Key, now: number): number {
    const interval = this.#intervalMs(organization, now);
    if (interval === 0) return Number.POSITIVE_INFINITY;
    const ahead = Math.max(0, (this.#organizations.get(organization)?.freeAt ?? 0) - now);
    return Math.max(0, Math.floor(this.#maxConcurrent(interval) - ahead / interval + 1e-6));
  }

  /**
   * The organizations that must not begin attempts now: they may begin none, or less than half of their allowed number.
   * Leasing one attempt costs nearly as much as leasing ten.
   */
  spent(now: number): Key[] {
    return [...this.#organizations.keys()].filter((id) => {
      const interval = this.#intervalMs(id, now);
      return interval > 0 && this.maxStarts(id, now) < Math.ceil(this.#maxConcurrent(interval) / 2);
    });
  }

  /** Called for every attempt that begins. */
  began(organization: Key, attempts: number, now: number): void {
    const freeAt = Math.max(this.#organizations.get(organization)?.freeAt ?? 0, now);
    const interval = this.#intervalMs(organization, now);
    this.#organizations.set(organization, { cameAt: now, freeAt: freeAt + attempts * interval });
  }

  #maxConcurrent(intervalMs: number): number {
    return Math.max(1, Math.floor(this.#policy.burstMs / intervalMs));
  }

  /** Between two attempts of the organization; 0 while it is alone. */
  #intervalMs(organization: Key, now: number): number {
    for (const [id, { cameAt }] of this.#organizations) {
      if (cameAt < now - this.#policy.rememberMs) this.#organizations.delete(id);
    }
    const others = this.#organizations.size - (this.#organizations.has(organization) ? 1 : 0);
    if (others === 0 && !this.#isAwaited(this.#policy.rememberMs)) return 0;
    return ((others + 1) * 1_000) / this.#policy.perSecond;
  }
}
