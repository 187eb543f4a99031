import { setMaxListeners } from 'node:events';
import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import { Scope } from '../platform/scope.ts';
import type { Tenant } from '../platform/tenant.ts';
import { type AttemptServices, type AttemptWork, loadAttempts, makeAttempt } from './attempt.ts';
import { AttemptRecorder, type RecorderOptions } from './attempt-recorder.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { type DeliveryWorkflowServices, ensureDeliveryWorkflow } from './delivery-workflow.ts';
import { failPoint } from './fail-points.ts';
import { type Leased, leaseFirstAttempts, returnLeases } from './lease.ts';
import type { Recorded } from './record-attempts.ts';

export interface DispatchServices extends AttemptServices, DeliveryWorkflowServices {
  database: Database;
  log: Log;
  countAttempt(status: DeliveryStatus): void;
}

/** How long nothing may happen before it looks for itself: a notification may have been missed. */
const lookEveryMs = 1_000;
/** After the database or the sealing keys failed. */
const restMs = 1_000;
/** What is under way when the process stops has this long to end; then it is given back. */
const stopGraceMs = 10_000;

/** Of what may be under way, one organization has at most so much: its receivers may all hang. */
const shareOfOne = 0.5;

const nameOf = ({ organizationId, environment }: Tenant) => `${organizationId}/${environment}`;

/**
 * Makes the first attempts of all deliveries: those that are due are leased in PostgreSQL, sent at the same time and
 * recorded together. No Temporal workflow is needed for what arrives at once; what fails gets one of its own.
 */
export class Dispatcher {
  readonly #services: DispatchServices;
  readonly #recorder: AttemptRecorder;
  readonly #cut = new AbortController();
  #stopping = false;
  #underWay = 0;
  readonly #underWayOf = new Map<string, number>();
  #woken = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;

  constructor(services: DispatchServices) {
    this.#services = services;
    const { log, deliveryPolicy: policy } = services;
    const onSettled: RecorderOptions['onSettled'] = (...settled) => this.#settled(...settled);
    this.#recorder = new AttemptRecorder({ log, policy, onSettled });
    // Every attempt listens to it.
    setMaxListeners(0, this.#cut.signal);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** There may be something to send. */
  wake(): void {
    this.#woken.resolve();
  }

  /** Begins nothing more, waits for what is under way, and gives back what does not end in time. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#running;
    const grace = setTimeout(() => this.#cut.abort(new Error('The process stops.')), stopGraceMs);
    while (this.#underWay > 0) await this.#idle(lookEveryMs);
    clearTimeout(grace);
  }

  async #run(): Promise<void> {
    const { log } = this.#services;
    while (!this.#stopping) {
      try {
        const waitMs = await this.#begin();
        if (waitMs > 0) await this.#idle(waitMs);
      } catch (error) {
        log.warn({ err: error }, 'deliveries could not be begun');
        await this.#idle(restMs);
      }
    }
  }

  /** Until it is woken, or the time is over. */
  async #idle(ms: number): Promise<void> {
    const timer = setTimeout(() => this.wake(), ms);
    await this.#woken.promise;
    clearTimeout(timer);
    this.#woken = Promise.withResolvers();
  }

  /** Begins what is due and allowed. @returns ms after which it is worth looking again without being woken */
  async #begin(): Promise<number> {
    const { database, deliveryPolicy, log } = this.#services;
    const free = deliveryPolicy.firstAttemptsAtOnce - this.#underWay;
    if (free <= 0) return lookEveryMs;
    const mostOfOne = Math.ceil(deliveryPolicy.firstAttemptsAtOnce * shareOfOne);
    const room = { total: free, of: (id: string) => mostOfOne - (this.#underWayOf.get(id) ?? 0) };
    const { leased, waitMs } = await leaseFirstAttempts(database, room, deliveryPolicy);
    if (leased.length === 0) return Math.min(waitMs ?? lookEveryMs, lookEveryMs);
    failPoint('delivery.leased');
    for (const { organizationId } of leased) this.#count(organizationId, 1);
    const groups = [...Map.groupBy(leased, nameOf).values()];
    await Promise.all(
      groups.map((group) =>
        this.#beginGroup(group).catch((error) => {
          this.#count(group[0]!.organizationId, -group.length);
          log.warn({ err: error }, 'deliveries wait for their lease to end');
        }),
      ),
    );
    return 0;
  }

  async #beginGroup(group: Leased[]): Promise<void> {
    const [{ organizationId, environment }] = group as [Leased];
    const scope = new Scope(this.#services.database, { organizationId, environment }, 'deliveries');
    const works = await loadAttempts(
      scope,
      group.map(({ deliveryId }) => deliveryId),
    );
    this.#count(organizationId, works.length - group.length);
    for (const work of works) void this.#attempt(scope, work);
  }

  async #attempt(scope: Scope, work: AttemptWork): Promise<void> {
    const { log } = this.#services;
    try {
      const outcome = await makeAttempt(this.#services, scope.tenant, work, this.#cut.signal);
      failPoint('delivery.sent');
      this.#recorder.add(scope, outcome);
    } catch (error) {
      if (!this.#cut.signal.aborted)
        log.error({ err: error, deliveryId: work.deliveryId }, 'a delivery cannot be sent');
      // It comes again when its lease ends; at once where it was only cut off.
      else await returnLeases(scope, [work.deliveryId]).catch(() => {});
      // Not before: the process stops when nothing is under way.
      this.#count(scope.tenant.organizationId, -1);
      this.wake();
    }
  }

  #count(organizationId: string, change: number): void {
    this.#underWay += change;
    const now = (this.#underWayOf.get(organizationId) ?? 0) + change;
    if (now === 0) this.#underWayOf.delete(organizationId);
    else this.#underWayOf.set(organizationId, now);
  }

  #settled(scope: Scope, attempts: number, recorded: Recorded[]): void {
    failPoint('delivery.recorded');
    this.#count(scope.tenant.organizationId, -attempts);
    for (const { deliveryId, status } of recorded) {
      this.#services.countAttempt(status);
      if (status === 'retrying' || status === 'dead_lettered') this.#follow(scope, deliveryId);
    }
    this.wake();
  }

  /** Its workflow is owed by the outbox too. */
  #follow(scope: Scope, deliveryId: string): void {
    ensureDeliveryWorkflow(this.#services, scope, deliveryId).catch((error) => {
      this.#services.log.warn({ err: error, deliveryId }, 'a delivery will get its workflow later');
    });
  }
}
