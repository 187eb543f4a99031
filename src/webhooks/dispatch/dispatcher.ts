import { setMaxListeners } from 'node:events';
import { clock } from '../../platform/clock.ts';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { DispatchRate, defaultDispatchRate } from '../core/dispatch-rate.ts';
import { rateWaitMs } from '../core/plan-dispatch.ts';
import { failPoint } from '../fail-points.ts';
import { type AttemptDeliveriesServices, attemptDeliveries, type EndedAttempt } from './attempt-deliveries.ts';
import { AttemptRecorder } from './attempt-recorder.ts';
import { type Leased, leaseDue } from './lease.ts';

interface DispatchServices extends AttemptDeliveriesServices {
  database: Database;
  log: Log;
  /** Called when a delivery became a dead letter. */
  onDeadLetter(): void;
  /** Whether a request of this process waited for a run within so many ms. */
  isRunAwaited(withinMs: number): boolean;
}

/** How often it polls without being woken: a notification may have been missed. */
const pollEveryMs = 1_000;
/** The pause after the database failed. */
const pauseMs = 1_000;
/** How long attempts in flight may take to end when the process stops; then they are aborted and their leases returned. */
const stopGraceMs = 10_000;

/**
 * Makes the attempts of all deliveries: first attempts, and the retries that the workflows of their subscriptions have
 * released, when they are due. Leases them in PostgreSQL, sends them concurrently and records them in batches.
 */
export class Dispatcher {
  readonly #services: DispatchServices;
  readonly #recorder: AttemptRecorder;
  readonly #abort = new AbortController();
  #stopping = false;
  #underWay = 0;
  readonly #underWayOf = new Map<TenantKey, number>();
  readonly #rate: DispatchRate<TenantKey>;
  /**
   * Until this time no dispatch waits for the end of an attempt: an organization has used its rate, and others have
   * what they need.
   */
  #pacedUntil = 0;
  readonly #pause = new WakeSignal();
  #running: Promise<void> | undefined;

  constructor(services: DispatchServices) {
    this.#services = services;
    // A batch costs as much as several attempts, most of it in the database.
    const mayLinger = () => services.isRunAwaited(defaultDispatchRate.rememberMs);
    this.#recorder = new AttemptRecorder(services.log, services.deliveryPolicy, mayLinger);
    this.#rate = new DispatchRate<TenantKey>(defaultDispatchRate, (withinMs) => services.isRunAwaited(withinMs));
    // Every attempt listens to this signal.
    setMaxListeners(0, this.#abort.signal);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Polls for due attempts at once. */
  wake(): void {
    this.#pause.set();
  }

  /** Stops leasing, waits for the attempts in flight, and returns the leases of those that do not end in time. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#running;
    const grace = setTimeout(() => this.#abort.abort(new Error('The process stops.')), stopGraceMs);
    while (this.#underWay > 0) await this.#pause.wait(pollEveryMs);
    clearTimeout(grace);
  }

  async #run(): Promise<void> {
    const { log } = this.#services;
    while (!this.#stopping) {
      try {
        const waitMs = await this.#begin();
        if (waitMs > 0) await this.#pause.wait(waitMs);
      } catch (error) {
        log.warn({ err: error }, 'due deliveries could not be leased');
        await this.#pause.wait(pauseMs);
      }
    }
  }

  /** Leases and sends due deliveries. @returns after how many ms to poll again */
  async #begin(): Promise<number> {
    const { deliveryPolicy, log } = this.#services;
    const free = deliveryPolicy.maxConcurrentAttempts - this.#underWay;
    this.#pacedUntil = 0;
    if (free <= 0) return pollEveryMs;
    const now = clock.now();
    const room = {
      free,
      held: (organizationId: string) => this.#underWayOf.get(this.#keyOf(organizationId)) ?? 0,
      maxStarts: (organizationId: string) => this.#rate.maxStarts(this.#keyOf(organizationId), now),
      spent: this.#rate.spent(now),
    };
    if (room.spent.length > 0) this.#pacedUntil = now + rateWaitMs;
    const { leased, waitMs } = await leaseDue(this.#services, room);
    if (leased.length === 0) return Math.min(waitMs ?? pollEveryMs, pollEveryMs);
    failPoint('delivery.leased');
    for (const of of leased) {
      const key = this.#scopeOf(of).tenantKey;
      this.#count(key, 1);
      this.#rate.began(key, 1, now);
    }
    const groups = [...Map.groupBy(leased, (of) => this.#scopeOf(of).environmentKey).values()];
    await Promise.all(
      groups.map((group) =>
        this.#beginGroup(group).catch((error) => {
          this.#count(this.#scopeOf(group[0]!).tenantKey, -group.length);
          log.warn(
            { err: error },
            'leased deliveries could not be loaded; they are tried again after their leases expire',
          );
        }),
      ),
    );
    return 0;
  }

  async #beginGroup(group: Leased[]): Promise<void> {
    const scope = this.#scopeOf(group[0]!);
    const ids = group.map(({ deliveryId }) => deliveryId);
    const attempts = await attemptDeliveries(this.#services, this.#recorder, scope, ids, this.#abort.signal);
    this.#count(scope.tenantKey, attempts.length - group.length);
    for (const attempt of attempts) attempt.then((ended) => this.#ended(scope.tenantKey, ended));
  }

  #scopeOf({ organizationId, environment }: Tenant): Scope {
    return new Scope(this.#services.database, { organizationId, environment }, 'deliveries');
  }

  /** The same for both environments of an organization. */
  #keyOf(organizationId: string): TenantKey {
    return this.#scopeOf({ organizationId, environment: 'live' }).tenantKey;
  }

  #count(key: TenantKey, change: number): void {
    this.#underWay += change;
    const now = (this.#underWayOf.get(key) ?? 0) + change;
    if (now === 0) this.#underWayOf.delete(key);
    else this.#underWayOf.set(key, now);
  }

  #ended(key: TenantKey, { recorded }: EndedAttempt): void {
    this.#count(key, -1);
    if (this.#stopping || clock.now() >= this.#pacedUntil) this.wake();
    if (recorded?.status === 'dead_lettered') this.#services.onDeadLetter();
  }
}
