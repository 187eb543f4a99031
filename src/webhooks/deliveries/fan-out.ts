import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import { failPoint } from '../fail-points.ts';
import { takeBacklogShare } from './delivery-backlog.ts';
import { createDeliveries, findTenants, skipEvents, type WaitingTenant } from './fan-out-sql.ts';

/*
 * An event and its first deliveries are written in the transaction of its cause. One event may go to thousands of webhooks,
 * and one request may bring a thousand events: what goes beyond a thousand deliveries is put off, as a row of
 * `event_fan_out` for each event. This loop creates the rest.
 *
 * - The row goes in the transaction that creates the last delivery, so that a crash loses none; a delivery is unique by
 *   event and webhook, so that none is made twice.
 * - Tenants alternate, one step each, and between two steps the loop rests for as long as the step took: the others'
 *   reads have PostgreSQL in between.
 * - While as many deliveries wait as the plan allows, the events are counted as skipped instead.
 */

interface FanOutServices {
  database: Database;
  log: Log;
  deliveries: { wake(): void };
}

/** Deliveries that one step creates. A delivery costs PostgreSQL about 0.1 ms. */
const perStep = 500;
const lookEveryMs = 1_000;
/** After PostgreSQL failed. */
const pauseMs = 5_000;

const correlationId = 'event-fan-out';

/** Creates the deliveries of events that were put off. Any number of processes may do it at once. */
export class FanOut {
  readonly #services: FanOutServices;
  readonly #pause = new WakeSignal();
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(services: FanOutServices) {
    this.#services = services;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#pause.set();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { database, log } = this.#services;
    while (!this.#stopping) {
      try {
        const tenants = await sqlOn(database.pool).rows(findTenants);
        for (const tenant of tenants) await this.#step(tenant);
        if (tenants.length === 0) await this.#pause.wait(lookEveryMs);
      } catch (error) {
        log.warn({ err: error }, 'deliveries of events that were put off will be created later');
        await this.#pause.wait(pauseMs);
      }
    }
  }

  async #step({ organizationId, environment, isFull }: WaitingTenant): Promise<void> {
    if (this.#stopping) return;
    const began = performance.now();
    const scope = new Scope(this.#services.database, { organizationId, environment }, correlationId);
    const created = await scope.transaction(async (tx) => {
      if (isFull) {
        await tx.one(skipEvents);
        return 0;
      }
      const { deliveries } = (await tx.one(createDeliveries, { perStep }))!;
      await takeBacklogShare(tx, deliveries);
      return deliveries;
    });
    failPoint('event.fanned_out');
    if (created > 0) this.#services.deliveries.wake();
    await this.#pause.wait(performance.now() - began);
  }
}
