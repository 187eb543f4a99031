import { withDeadline } from '../../platform/concurrency/deadline.ts';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Database } from '../../platform/database/database.ts';
import { type Sql, sqlOn } from '../../platform/database/sql.ts';
import { systemTransaction } from '../../platform/database/unit-of-work.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { describeWebhook } from '../core/failure-sentence.ts';
import { whyDead } from '../deliveries/delivery-progress.ts';
import type { DeliveryPolicy } from '../dispatch/delivery-policy.ts';
import { takeHostRate } from '../dispatch/host-rate.ts';
import { failPoint } from '../fail-points.ts';
import { resumeDeadLetterWorkflow, resumeIfParked, startDeadLetterWorkflow } from '../retries/webhook-workflows.ts';
import {
  findDeadLetters,
  findUnparked,
  findUnparking,
  leaveOlder,
  leaveSurplus,
  markLeft,
  markParked,
  markStarting,
  markUnparked,
  tryLock,
  type Unparked,
} from './dead-letter-workflows-sql.ts';

interface DeadLetterWorkflowsServices {
  database: Database;
  temporal: TemporalClient;
  deliveryPolicy: DeliveryPolicy;
  log: Log;
  /** Whether a request waited for a run within so many ms. */
  isRunAwaited(withinMs: number): boolean;
}

const lookEveryMs = 1_000;
/** While there is more to do. */
const stepMs = 500;
/** Requests for runs count for so long. */
const rememberMs = 2_000;
/** Temporal may hang: after that another process may take the lock. */
const deadlineMs = 10_000;
/** Names of the rates that are stored beside those of hosts; no host has such a name. */
const parkRateName = '(parking)';
const unparkRateName = '(unparking)';

/**
 * Starts the workflows in which operators replay dead letters, at a rate that the installation can bear, and signals
 * workflows of deliveries that are no longer dead letters. One process at a time does it. The pending work is in the
 * rows, so that a crash repeats only harmless work.
 */
export class DeadLetterWorkflows {
  readonly #services: DeadLetterWorkflowsServices;
  #stopping = false;
  readonly #pause = new WakeSignal();
  #running: Promise<void> | undefined;

  constructor(services: DeadLetterWorkflowsServices) {
    this.#services = services;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Looks at once. */
  wake(): void {
    this.#pause.set();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const began = performance.now();
      const isMore = await this.#once().catch((err) => {
        this.#services.log.warn({ err }, 'workflows of dead letters will be started later');
        return false;
      });
      await this.#pause.wait(isMore ? Math.max(0, stepMs - (performance.now() - began)) : lookEveryMs);
    }
  }

  get #perSecond(): number {
    const { deliveryPolicy, isRunAwaited } = this.#services;
    return isRunAwaited(rememberMs) ? deliveryPolicy.parkedPerSecondBesideRuns : deliveryPolicy.parkedPerSecond;
  }

  /** @returns whether there was something to do */
  async #once(): Promise<boolean> {
    const { database } = this.#services;
    const sql = sqlOn(database.pool);
    const subscriptions = (await sql.rows(findUnparked)).map(({ id }) => id);
    if (subscriptions.length > 0) {
      // Runs first: dead letters that are still without a workflow make the next pass repeat a failed one.
      if (!(await this.#whileLocked(() => this.#leaveSurplus(sql, subscriptions)))) return false;
      await sql.rows(leaveOlder, { subscriptions });
    }
    const unparking = await sql.rows(findUnparking, { perSecond: this.#perSecond });
    if (subscriptions.length + unparking.length === 0) return false;
    return this.#whileLocked(async (tx) => {
      if (subscriptions.length > 0) await this.#park(tx, sql, subscriptions);
      await this.#unpark(tx, sql);
    });
  }

  /**
   * The transaction holds the lock and the rates. Rows of deliveries are changed outside of it: no request waits for
   * their locks during the calls to Temporal, and workflows read committed rows.
   * @returns false while another process has the lock
   */
  #whileLocked(work: (tx: Sql) => Promise<void>): Promise<boolean> {
    return systemTransaction(this.#services.database, async (tx) => {
      if (!(await tx.one(tryLock))?.taken) return false;
      await work(tx);
      return true;
    });
  }

  async #leaveSurplus(sql: Sql, subscriptions: string[]): Promise<void> {
    const surplus = await sql.rows(leaveSurplus, { subscriptions, perSecond: this.#perSecond });
    await this.#notifyEach(surplus, ({ id }) => resumeIfParked(this.#services.temporal, id));
    await sql.rows(markLeft, { ids: surplus.map(({ id }) => id) });
  }

  async #park(tx: Sql, sql: Sql, subscriptions: string[]): Promise<void> {
    const perSecond = this.#perSecond;
    const found = await tx.rows(findDeadLetters, { subscriptions, perSecond });
    const next = found.slice(0, await this.#allowance(tx, parkRateName, found.length, perSecond)).map(({ id }) => id);
    // Committed before they are started. Others were replayed meanwhile.
    const marked = await sql.rows(markStarting, { ids: next });
    const ids = marked.map(({ id }) => id);
    const letters = found.filter(({ id }) => ids.includes(id));
    await this.#notifyEach(letters, (letter) => this.#start(letter));
    failPoint('letter.parked');
    await sql.rows(markParked, { ids });
  }

  async #unpark(tx: Sql, sql: Sql): Promise<void> {
    // No caller waits for these, and replayed deliveries come first.
    const perSecond = this.#perSecond / 2;
    const found = await tx.rows(findUnparking, { perSecond });
    const replayed = found.slice(0, await this.#allowance(tx, unparkRateName, found.length, perSecond));
    await this.#notifyEach(replayed, ({ id }) => resumeIfParked(this.#services.temporal, id));
    await sql.rows(markUnparked, { ids: replayed.map(({ id }) => id) });
  }

  /** @returns how many of them may be signalled now */
  async #allowance(sql: Sql, name: string, wanted: number, perSecond: number): Promise<number> {
    if (wanted === 0) return 0;
    return (await takeHostRate(sql, new Map([[name, wanted]]), perSecond, perSecond)).get(name) ?? 0;
  }

  #notifyEach<Item>(all: Item[], notifyEach: (one: Item) => Promise<void>): Promise<unknown> {
    return withDeadline(Promise.all(all.map(notifyEach)), deadlineMs);
  }

  #start(letter: Unparked): Promise<void> {
    const { temporal, deliveryPolicy } = this.#services;
    const { id: deliveryId, organizationId, environment, correlationId, subscriptionId, eventType } = letter;
    const args = {
      organizationId,
      environment,
      correlationId,
      deliveryId,
      subscriptionId,
      eventType,
      why: whyDead(letter),
      parkedMs: deliveryPolicy.parkedMs,
    };
    // A replayed delivery may still have its workflow.
    const start = letter.attempts > letter.scheduleAttempts ? resumeDeadLetterWorkflow : startDeadLetterWorkflow;
    const webhook = describeWebhook(letter.webhookName, letter.webhookUrl);
    return start(temporal, args, fairnessOf({ organizationId, environment }, letter.plan), webhook);
  }
}
