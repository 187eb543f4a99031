import type { Log } from '../platform/log.ts';
import type { Scope } from '../platform/scope.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { type Recorded, recordAttempts } from './record-attempts.ts';

export interface RecorderOptions {
  log: Log;
  policy: DeliveryPolicy;
  /** Told of attempts that are recorded, or given up, how many they were and what became of their deliveries. */
  onSettled(scope: Scope, attempts: number, recorded: Recorded[]): void;
}

interface Batch {
  scope: Scope;
  outcomes: AttemptOutcome[];
  tries: number;
}

/** After the database failed. */
const restMs = 1_000;
/** Longer than a lease: by then somebody else makes the attempts again. */
const mostTries = 60;

/** Records attempts in batches, a tenant's together: whatever ends while one batch is written is in the next. */
export class AttemptRecorder {
  readonly #options: RecorderOptions;
  readonly #waiting = new Map<string, Batch>();
  #writing = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  add(scope: Scope, outcome: AttemptOutcome): void {
    const name = `${scope.tenant.organizationId}/${scope.tenant.environment}`;
    const batch = this.#waiting.get(name) ?? { scope, outcomes: [], tries: 0 };
    batch.outcomes.push(outcome);
    this.#waiting.set(name, batch);
    if (this.#writing) return;
    this.#writing = true;
    // What ends in the same turn of the event loop is written together.
    setImmediate(() => this.#write());
  }

  async #write(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batches = [...this.#waiting.values()];
      this.#waiting.clear();
      await Promise.all(batches.map((batch) => this.#writeBatch(batch)));
    }
    this.#writing = false;
  }

  /** One that fails is tried again by itself, and keeps no others waiting. */
  async #writeBatch(batch: Batch): Promise<void> {
    const { log, policy, onSettled } = this.#options;
    const { scope, outcomes } = batch;
    try {
      onSettled(scope, outcomes.length, await recordAttempts(scope, outcomes, policy));
    } catch (error) {
      const again = ++batch.tries < mostTries;
      const facts = { err: error, attempts: outcomes.length, ...scope.tenant };
      log.warn(facts, again ? 'attempts will be recorded again' : 'attempts could not be recorded');
      if (again) setTimeout(() => this.#writeBatch(batch), restMs);
      else onSettled(scope, outcomes.length, []);
    }
  }
}
