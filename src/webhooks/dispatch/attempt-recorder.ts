import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { EnvironmentKey } from '../../platform/security/tenant-key.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { type Recorded, recordAttempts } from './record-attempts.ts';

interface Waiting {
  outcome: AttemptOutcome;
  done(recorded: Recorded | undefined): void;
}

interface Batch {
  scope: Scope;
  waiting: Waiting[];
  tries: number;
}

/** The pause after the database failed. */
const retryAfterMs = 1_000;
/** Together longer than a lease: by then another process makes the attempts again. */
const maxTries = 60;

/** Attempts that end within this time share a batch, where something else is more urgent than they are. */
const lingerMs = 20;

/** Records attempts in batches per tenant. Attempts that end while a batch is written go into the next one. */
export class AttemptRecorder {
  readonly #log: Log;
  readonly #policy: DeliveryPolicy;
  readonly #waiting = new Map<`${EnvironmentKey} ${string}`, Batch>();
  readonly #mayLinger: () => boolean;
  #writing = false;

  /** @param mayLinger whether fewer batches are worth that each attempt is recorded later */
  constructor(log: Log, policy: DeliveryPolicy, mayLinger: () => boolean) {
    this.#log = log;
    this.#policy = policy;
    this.#mayLinger = mayLinger;
  }

  /** @returns undefined when the attempt was recorded before, its delivery has ended, or the database stayed unavailable */
  record(scope: Scope, outcome: AttemptOutcome): Promise<Recorded | undefined> {
    const name = `${scope.environmentKey} ${scope.correlationId}` as const;
    const batch = this.#waiting.get(name) ?? { scope, waiting: [], tries: 0 };
    this.#waiting.set(name, batch);
    const recorded = new Promise<Recorded | undefined>((done) => batch.waiting.push({ outcome, done }));
    if (!this.#writing) {
      this.#writing = true;
      void this.#write();
    }
    return recorded;
  }

  async #write(): Promise<void> {
    while (this.#waiting.size > 0) {
      // Attempts that end in the same iteration of the event loop share a batch.
      await (this.#mayLinger() ? sleep(lingerMs) : yieldToEventLoop());
      const batches = [...this.#waiting.values()];
      this.#waiting.clear();
      await Promise.all(batches.map((batch) => this.#writeBatch(batch)));
    }
    this.#writing = false;
  }

  /** A batch that fails is tried again and does not block the others. */
  async #writeBatch(batch: Batch): Promise<void> {
    const { scope, waiting } = batch;
    try {
      const outcomes = waiting.map(({ outcome }) => outcome);
      const rows = await recordAttempts(scope, outcomes, this.#policy, batch.tries > 0);
      const recorded = new Map(rows.map((of) => [of.deliveryId, of]));
      for (const { outcome, done } of waiting) done(recorded.get(outcome.work.deliveryId));
    } catch (error) {
      const again = ++batch.tries < maxTries;
      const facts = { err: error, attempts: waiting.length, ...scope.tenant };
      this.#log.warn(facts, again ? 'attempts will be recorded again' : 'attempts could not be recorded');
      if (again) setTimeout(() => this.#writeBatch(batch), retryAfterMs);
      else for (const { done } of waiting) done(undefined);
    }
  }
}
