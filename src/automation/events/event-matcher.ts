import { randomUUID } from 'node:crypto';
import { Scope } from '../../platform/scope.ts';
import { type RowOf, sqlOn } from '../../platform/sql.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';
import { EventDecision } from './decide.ts';
import { claimOpen, findOpenNames, findStartingTenants } from './events-sql.ts';
import { type EventStartServices, startRuns } from './start-runs.ts';
import type { EventWakeup } from './wakeup.ts';

/*
 * Decides what the requests that sent events leave, and the events of the platform, and starts runs. An event is a row until
 * it is decided, and a run that it starts is a row until it is created: a crash loses none. Events of one name are decided in
 * the order of their times. Names and tenants take turns, a step each.
 */

export interface MatcherServices extends EventStartServices {
  eventWakeup: EventWakeup;
}

const lookEveryMs = 1_000;
/** Turns at the same time: one with costly filters does not hold up all others. */
const concurrency = 4;
/** After a failure. */
const pauseMs = 2_000;

const correlationId = 'event-matcher';

/** Any number of processes may do it at once. */
export class EventMatcher {
  readonly #services: MatcherServices;
  readonly #pause = new WakeSignal();
  #stopping = false;
  #running: Promise<unknown> | undefined;

  constructor(services: MatcherServices) {
    this.#services = services;
  }

  start(): void {
    this.#services.eventWakeup.onWake(() => this.#pause.set());
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
      let done = 0;
      let hasFailed = false;
      const attempt = async (work: () => Promise<number>) => {
        if (this.#stopping) return;
        try {
          done += await work();
        } catch (error) {
          hasFailed = true;
          log.warn({ err: error }, 'events will be decided later');
        }
      };
      await attempt(async () => {
        const sql = sqlOn(database.pool);
        const [names, tenants] = [await sql.rows(findOpenNames), await sql.rows(findStartingTenants)];
        const turns = [
          ...tenants.map((tenant) => () => startRuns(this.#services, tenant)),
          ...names.map((name) => () => this.#decide(name)),
        ];
        const work = async () => {
          for (let turn = turns.shift(); turn; turn = turns.shift()) await attempt(turn);
        };
        await Promise.all(Array.from({ length: concurrency }, work));
        return 0;
      });
      if (hasFailed) await this.#pause.wait(pauseMs);
      else if (done === 0) await this.#pause.wait(lookEveryMs);
    }
  }

  /** Decides the oldest open event of a name. @returns 1, or 0 where another process has it */
  async #decide({ type, ...tenant }: RowOf<typeof findOpenNames>): Promise<number> {
    const scope = new Scope(this.#services.database, tenant, correlationId);
    const lease = randomUUID();
    const claimed = await scope.one(claimOpen, { type, lease });
    if (!claimed) return 0;
    await new EventDecision(this.#services, scope, claimed, lease).run('step');
    return 1;
  }
}
