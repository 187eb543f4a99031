import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantKey } from '../../../platform/security/tenant-key.ts';

interface Waiting {
  go(): void;
  fail(error: unknown): void;
}

/** Requests to one host that wait, by organization. */
type Queues = Map<TenantKey, Waiting[]>;

interface HostRatePort {
  /** @returns how many of `wanted` requests to the host may be sent now */
  take(host: string, wanted: number): Promise<number>;
  /** After how long to ask again where not all of them may. */
  waitMs: number;
}

/** Maximum requests that are admitted at once. */
const maxWanted = 100;

/**
 * Sends requests of steps at the rate of their host, which deliveries of webhooks share. The organizations that wait in
 * this process alternate. One loop for each host admits all of its requests.
 */
export class HostQueue {
  readonly #rate: HostRatePort;
  readonly #hosts = new Map<string, Queues>();

  constructor(rate: HostRatePort) {
    this.#rate = rate;
  }

  /** Resolves when a request may be sent. @throws the reason of `signal` */
  async wait(host: string, tenantKey: TenantKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { go: resolve, fail: reject };
    const isFirst = !this.#hosts.has(host);
    const queues: Queues = this.#hosts.get(host) ?? new Map();
    this.#hosts.set(host, queues);
    queues.set(tenantKey, [...(queues.get(tenantKey) ?? []), one]);
    const abort = () => {
      const rest = queues.get(tenantKey)?.filter((other) => other !== one) ?? [];
      if (rest.length > 0) queues.set(tenantKey, rest);
      else queues.delete(tenantKey);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (isFirst) void this.#serve(host, queues);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async #serve(host: string, queues: Queues): Promise<void> {
    try {
      while (queues.size > 0) {
        const wanted = Math.min(maxWanted, countOf(queues));
        const granted = await this.#rate.take(host, wanted);
        for (let left = granted; left > 0 && queues.size > 0; left--) nextOf(queues).go();
        if (granted < wanted) await sleep(this.#rate.waitMs);
      }
      this.#hosts.delete(host);
    } catch (error) {
      this.#hosts.delete(host);
      for (const waiting of queues.values()) for (const one of waiting) one.fail(error);
    }
  }
}

const countOf = (queues: Queues): number => [...queues.values()].reduce((sum, { length }) => sum + length, 0);

/** The first of the organization that is next; the organization goes behind the others. */
function nextOf(queues: Queues): Waiting {
  const [key, [one, ...rest]] = queues.entries().next().value!;
  queues.delete(key);
  if (rest.length > 0) queues.set(key, rest);
  return one!;
}
