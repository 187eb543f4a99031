import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkQueueFull } from '../../platform/bounded-work/task.ts';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { type RowOf, sqlOn } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { EnvironmentKey } from '../../platform/security/tenant-key.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { bodyOf, type EventBody } from '../core/event-body.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { takeBacklogShare } from '../deliveries/delivery-backlog.ts';
import { failPoint } from '../fail-points.ts';
import {
  type Addressee,
  advance,
  claimTenant,
  countFilterErrors,
  createDeliveries,
  findTenants,
  holdLease,
  leaseMs,
  readEvents,
  releaseTenant,
  renewLease,
  skipDeliveries,
  type TenantToAddress,
} from './addressing-sql.ts';
import type { FilterEvaluator, FilterOutcome } from './filters.ts';
import { orderKeyOf } from './order-key.ts';

/*
 * Whether an event goes to a webhook with a filter shows its body, and so does what it is about, for webhooks whose
 * deliveries are ordered by that. What a filter costs is decided by its owner. So the
 * transaction of the event's cause writes one row of `event_addressing`, and this loop evaluates the filters, in processes
 * of the pool, and creates the deliveries of those that match.
 *
 * - The row goes in the transaction that creates the last delivery, so that a crash loses none; a delivery is unique by
 *   event and webhook, so that none is made twice.
 * - The events of a tenant are addressed in their order, by one process at a time. A step evaluates few filters, and each
 *   tenant has one task in the pool at most, which shares its processes by the time that they are used: others are held up
 *   for no longer than one task takes, however many filters and events a tenant has.
 */

interface AddressingServices {
  database: Database;
  log: Log;
  eventFilters: Pick<FilterEvaluator, 'match'>;
  events: EventCatalog;
  deliveries: { wake(): void };
}

/** Maximum pairs of an event and a webhook that a step decides, and that form one task of filters. */
const perStep = 200;
const perTask = 20;
/** After this time no further filter begins. */
const stepMs = 5_000;
/** Tenants that a process serves at the same time. */
const maxTenants = 16;
const lookEveryMs = 1_000;
/** The pause before a tenant is served again whose share of the pool was used up, or whose step failed. */
const pauseMs = { busy: 500, failed: 5_000 };

const correlationId = 'event-addressing';

type EventRow = RowOf<typeof readEvents>;

/** An event and a webhook that it may go to. */
interface Pair {
  /** The place of the event in its step. */
  at: number;
  eventId: string;
  /** Undefined for an event without content. */
  body: EventBody | undefined;
  addressee: Addressee;
}

interface Decided {
  pair: Pair;
  outcome: FilterOutcome;
}

/** The decisions of a step: the pairs before the first undecided one. */
interface Step {
  matched: Decided[];
  failed: Decided[];
  doneIds: string[];
  /** The event that is not done, if some of its webhooks are. */
  partial: { eventId: string; afterId: string } | undefined;
}

/** Creates the deliveries of webhooks with filters or an order. Any number of processes may do it at once. */
export class EventAddresser {
  readonly #services: AddressingServices;
  readonly #pause = new WakeSignal();
  readonly #closing = new AbortController();
  readonly #serving = new Map<EnvironmentKey, Promise<void>>();
  #running: Promise<void> | undefined;

  constructor(services: AddressingServices) {
    this.#services = services;
  }

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#pause.set();
  }

  async stop(): Promise<void> {
    this.#closing.abort();
    this.#pause.set();
    await this.#running;
    await Promise.all(this.#serving.values());
  }

  async #run(): Promise<void> {
    const { database, log } = this.#services;
    while (!this.#closing.signal.aborted) {
      try {
        const tenants = await sqlOn(database.pool).rows(findTenants);
        for (const tenant of tenants) this.#serve(tenant);
        await this.#pause.wait(lookEveryMs);
      } catch (error) {
        log.warn({ err: error }, 'deliveries of webhooks with filters will be created later');
        await this.#pause.wait(pauseMs.failed);
      }
    }
  }

  #scopeOf({ organizationId, environment }: Tenant): Scope {
    return new Scope(this.#services.database, { organizationId, environment }, correlationId);
  }

  /** Takes a step for a tenant, unless one is under way. */
  #serve(tenant: TenantToAddress): void {
    const key = this.#scopeOf(tenant).environmentKey;
    if (this.#serving.has(key) || this.#serving.size >= maxTenants) return;
    const served = this.#stepOrPause(tenant).finally(() => {
      this.#serving.delete(key);
    });
    this.#serving.set(key, served);
  }

  async #stepOrPause(tenant: TenantToAddress): Promise<void> {
    try {
      if (await this.#step(tenant)) this.wake();
    } catch (error) {
      const isBusy = error instanceof WorkQueueFull;
      if (!isBusy) this.#services.log.warn({ err: error, ...tenant }, 'an event will be addressed later');
      const { signal } = this.#closing;
      await sleep(pauseMs[isBusy ? 'busy' : 'failed'], undefined, { signal }).catch(() => {});
    }
  }

  /** @returns whether something was done */
  async #step(tenant: TenantToAddress): Promise<boolean> {
    const scope = this.#scopeOf(tenant);
    const lease = randomUUID();
    const claimed = await scope.one(claimTenant, { lease });
    if (!claimed) return false;
    failPoint('event.addressing');
    const held = { headId: claimed.headId, lease };
    // A process that has lost its lease commits nothing, so a renewal may fail.
    const renewing = setInterval(() => void scope.rows(renewLease, held).catch(() => {}), leaseMs / 3);
    try {
      const step = await this.#decide(scope, await scope.rows(readEvents, { addressees: perStep }));
      failPoint('event.filtered');
      const created = await this.#commit(scope, held, step, tenant.isFull);
      failPoint('event.addressed');
      if (created > 0) this.#services.deliveries.wake();
      return true;
    } catch (error) {
      await scope.rows(releaseTenant, held).catch(() => {});
      throw error;
    } finally {
      clearInterval(renewing);
    }
  }

  #bodyOf({ eventId: id, type, facts, createdAt }: EventRow): EventBody | undefined {
    const declared = type === null ? undefined : this.#services.events.get(type);
    return declared && facts && createdAt ? bodyOf(declared, { id, type: declared.type, facts, createdAt }) : undefined;
  }

  async #decide(scope: Scope, events: readonly EventRow[]): Promise<Step> {
    const until = performance.now() + stepMs;
    const pairs = events.flatMap((event, at) => {
      const body = event.addressees.length > 0 ? this.#bodyOf(event) : undefined;
      return event.addressees.map((addressee): Pair => ({ at, eventId: event.eventId, body, addressee }));
    });
    const decided: Decided[] = [];
    while (decided.length < pairs.length && (decided.length === 0 || performance.now() < until)) {
      const some = pairs.slice(decided.length, decided.length + perTask);
      try {
        decided.push(...(await this.#match(scope, some)));
      } catch (error) {
        if (!(error instanceof WorkQueueFull) || decided.length === 0) throw error;
        break;
      }
    }
    const last = decided.at(-1)?.pair;
    const isAll = decided.length === pairs.length && pairs.length < perStep;
    const next = isAll ? events.length : (pairs[decided.length] ?? last!).at;
    return {
      matched: decided.filter(({ outcome }) => outcome === 'matches'),
      failed: decided.filter(({ outcome }) => outcome === 'failed'),
      doneIds: events.slice(0, next).map(({ eventId }) => eventId),
      partial: last?.at === next ? { eventId: last.eventId, afterId: last.addressee.id } : undefined,
    };
  }

  async #match(scope: Scope, pairs: readonly Pair[]): Promise<Decided[]> {
    const filtered = pairs.flatMap(({ body, addressee: { filter } }) =>
      body && filter !== null ? [{ body, filter }] : [],
    );
    const outcomes = (await this.#services.eventFilters.match(scope.tenantKey, filtered)).values();
    return pairs.map((pair): Decided => {
      // An event whose content was removed goes to no webhook.
      if (!pair.body) return { pair, outcome: 'differs' };
      return { pair, outcome: pair.addressee.filter === null ? 'matches' : outcomes.next().value! };
    });
  }

  /** @returns how many deliveries were created; none when another process has taken the tenant over */
  #commit(
    scope: Scope,
    held: { headId: string; lease: string },
    { matched, failed, doneIds, partial }: Step,
    isFull: boolean,
  ): Promise<number> {
    const eventIds = matched.map(({ pair }) => pair.eventId);
    const webhookIds = matched.map(({ pair }) => pair.addressee.id);
    const subjects = matched.map(({ pair: { body, addressee } }) => (addressee.isOrdered ? orderKeyOf(body!) : null));
    const errors = Map.groupBy(failed, ({ pair }) => pair.addressee.id);
    return scope.transaction(async (tx) => {
      if (!(await tx.one(holdLease, held))) return 0;
      if (errors.size > 0) {
        const counts = [...errors.values()].map(({ length }) => length);
        await tx.rows(countFilterErrors, { webhookIds: [...errors.keys()], counts });
      }
      await tx.rows(advance, { doneIds, partialId: partial?.eventId ?? null, afterId: partial?.afterId ?? null });
      if (eventIds.length === 0) return 0;
      if (isFull) {
        await tx.rows(skipDeliveries, { eventIds, webhookIds });
        return 0;
      }
      const { deliveries } = (await tx.one(createDeliveries, { eventIds, webhookIds, subjects }))!;
      await takeBacklogShare(tx, deliveries);
      return deliveries;
    });
  }
}
