import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import { deliveriesChannel } from '../../webhooks/index.ts';

const notify = systemStatement({
  name: 'integration.notify_dispatchers',
  text: `select pg_notify('${deliveriesChannel}', '')`,
});

/**
 * Notifies the dispatchers of all processes of deliveries, after their commit and for many commits at once:
 * transactions that notify commit one after the other, because PostgreSQL keeps notifications in the order of commits.
 * A notification that a crash prevents costs a second, after which the dispatchers look by themselves.
 */
export class DispatchNotice {
  readonly #services: { database: Database; log: Log };
  #isUnderWay = false;
  #isAsked = false;

  constructor(services: { database: Database; log: Log }) {
    this.#services = services;
  }

  /** Notifies soon. */
  give(): void {
    this.#isAsked = true;
    if (!this.#isUnderWay) this.#run();
  }

  async #run(): Promise<void> {
    const { database, log } = this.#services;
    this.#isUnderWay = true;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        await sqlOn(database.pool).rows(notify);
      }
    } catch (error) {
      log.warn({ err: error }, 'the dispatchers of other processes could not be notified of deliveries');
    } finally {
      this.#isUnderWay = false;
    }
  }
}
