import { randomUUID } from 'node:crypto';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import { Scope } from '../../platform/database/scope.ts';
import type { RowOf } from '../../platform/database/sql.ts';
import { EventDecision } from './decide.ts';
import { claimOpen, findOpenNames, findStartingTenants, giveUpEvent } from './events-sql.ts';
import { GivingUp } from './give-up.ts';
import { type EventStartServices, startRuns } from './start-runs.ts';
import { TenantRounds } from './tenant-rounds.ts';

/*
 * Decides the events that requests have left undecided, and the events of the platform, and starts runs. An event is a
 * row until it is decided, and a run that it starts is a row until it is created: a crash loses none. Events of one
 * name are decided in the order of their times. Names and tenants alternate, one step each.
 */

const lookEveryMs = 1_000;
/** Names that are decided concurrently: one with costly filters does not hold up all others. */
const concurrency = 4;
/** After a failure. */
const pauseMs = 2_000;

const correlationId = 'event-matcher';

/** Any number of processes may do it at once. */
export class EventMatcher {
  readonly #pause = new WakeSignal();
  readonly #givingUp = new GivingUp();
  readonly #openNames = new TenantRounds(findOpenNames);
  readonly #startingTenants = new TenantRounds(findStartingTenants);

  /** Events may be open, or runs may have to be started. */
  wake(): void {
    this.#pause.set();
  }

  async keepDeciding(services: EventStartServices, stopping: AbortSignal): Promise<void> {
    const { database, log } = services;
    while (!stopping.aborted) {
      let done = 0;
      let hasFailed = false;
      const attempt = async (work: () => Promise<number>) => {
        if (stopping.aborted) return;
        try {
          const count = await work();
          // Not in one expression with the work: several add to it at the same time.
          done += count;
        } catch (error) {
          hasFailed = true;
          log.warn({ err: error }, 'events will be decided later');
        }
      };
      await attempt(async () => {
        const [names, tenants] = [await this.#openNames.next(database), await this.#startingTenants.next(database)];
        const work = [
          ...tenants.map((tenant) => () => startRuns(services, tenant, this.#givingUp)),
          ...names.map((name) => () => decideOldest(services, name, this.#givingUp)),
        ];
        const perform = async () => {
          for (let next = work.shift(); next; next = work.shift()) await attempt(next);
        };
        await Promise.all(Array.from({ length: concurrency }, perform));
        return 0;
      });
      if (hasFailed) await this.#pause.wait(pauseMs, stopping);
      else if (done === 0) await this.#pause.wait(lookEveryMs, stopping);
    }
  }
}

/** Decides the oldest open event of a name, a step of it. @returns 1, or 0 where another process has it */
async function decideOldest(
  services: EventStartServices,
  { type, ...tenant }: RowOf<typeof findOpenNames>,
  givingUp: GivingUp,
): Promise<number> {
  const scope = new Scope(services.database, tenant, correlationId);
  const lease = randomUUID();
  const claimed = await scope.one(claimOpen, { type, lease });
  if (!claimed) return 0;
  await givingUp.attempt(
    { key: claimed.id, tenant, log: services.log },
    async () => void (await new EventDecision(services, scope, claimed, lease).run('step')),
    () => scope.rows(giveUpEvent, { id: claimed.id, lease }),
  );
  return 1;
}
