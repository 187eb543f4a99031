import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { EventPosition } from '../core/event-cursor.ts';
import { settledTransaction } from './transaction-clock.ts';

interface Waiting {
  tenant: Tenant;
  position: EventPosition;
  signal: WakeSignal;
}

const lookEveryMs = 200;

// One query serves all waiting readers: an event is listed when it is settled, which causes no notification.
const findArrived = systemStatement({
  name: 'event.arrived',
  parameters: { organizations: 'uuid[]', environments: 'text[]', transactions: 'bigint[]', events: 'uuid[]' },
  row: { place: 'int' },
  text: `with bound as materialized (select ${settledTransaction} as settled)
   select w.place::int as place
     from bound cross join unnest(:organizations, :environments, :transactions, :events) with ordinality
            as w (organization_id, environment, transaction_number, event_id, place)
    cross join lateral (
      select from event e
       where e.organization_id = w.organization_id and e.environment = w.environment
         and (e.transaction_number, e.id) > (w.transaction_number, w.event_id) and e.transaction_number < bound.settled
       limit 1) arrived`,
});

/** The requests of this process that wait for events. */
export class EventArrivals {
  readonly #database: Database;
  readonly #log: Log;
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** Resolves when the tenant has an event behind a position, after `withinMs`, or when `giveUp` is aborted. */
  async next(tenant: Tenant, position: EventPosition, withinMs: number, giveUp: AbortSignal): Promise<void> {
    const one = { tenant, position, signal: new WakeSignal() };
    this.#waiting.add(one);
    this.#timer ??= setInterval(() => void this.#look(), lookEveryMs).unref();
    await one.signal.wait(withinMs, giveUp);
    this.#waiting.delete(one);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const waiting = [...this.#waiting];
    try {
      const arrived = await sqlOn(this.#database.pool).rows(findArrived, {
        organizations: waiting.map(({ tenant }) => tenant.organizationId),
        environments: waiting.map(({ tenant }) => tenant.environment),
        transactions: waiting.map(({ position }) => position.transaction),
        events: waiting.map(({ position }) => position.eventId),
      });
      for (const { place } of arrived) waiting[place - 1]?.signal.set();
    } catch (error) {
      this.#log.warn({ err: error }, 'requests that wait for events will look again later');
    } finally {
      this.#isLooking = false;
    }
  }
}
