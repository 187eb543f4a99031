import type { Background } from '../platform/background.ts';
import type { Log } from '../platform/log.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { ProviderFailure } from '../providers/ports.ts';
import { turnStates } from './core/status.ts';
import type { OpenTurn } from './open-turn.ts';
import { type AskServices, askOpenTurn } from './question.ts';

/** Every duration is a value, so that tests take seconds. */
export interface FirstQuestionPolicy {
  /** Questions of one organization that this process asks at the same time, and of all. The workflow asks what is over that. */
  ofOrganization: number;
  ofProcess: number;
  /** A process that has not renewed its mark for so long is taken for dead, and the workflow asks. */
  leaseMs: number;
  renewEveryMs: number;
  /** For which a process that stops lets its questions go on. Then the workflow asks, in another process. */
  drainMs: number;
}

export const defaultFirstQuestionPolicy: FirstQuestionPolicy = {
  ...{ ofOrganization: 16, ofProcess: 64 },
  ...{ leaseMs: 10_000, renewEveryMs: 3_000, drainMs: 10_000 },
};

/** The places for questions that the process asks which took their messages. */
export class FirstQuestions {
  readonly policy: FirstQuestionPolicy;
  readonly #underWay = new Map<string, number>();
  #size = 0;

  constructor(policy: FirstQuestionPolicy = defaultFirstQuestionPolicy) {
    this.policy = policy;
  }

  /** How many are under way. */
  get size(): number {
    return this.#size;
  }

  /** @returns what gives the place free; undefined where there is none */
  enter({ organizationId }: Pick<Tenant, 'organizationId'>): (() => void) | undefined {
    const own = this.#underWay.get(organizationId) ?? 0;
    if (own >= this.policy.ofOrganization || this.#size >= this.policy.ofProcess) return undefined;
    this.#underWay.set(organizationId, own + 1);
    this.#size++;
    return () => {
      const left = this.#underWay.get(organizationId)! - 1;
      if (left > 0) this.#underWay.set(organizationId, left);
      else this.#underWay.delete(organizationId);
      this.#size--;
    };
  }
}

export interface FirstQuestionServices extends AskServices {
  firstQuestions: FirstQuestions;
  background: Background;
  draining: AbortController;
  log: Log;
}

/** A message whose row says that this process asks its model. */
export interface FirstQuestion {
  open: OpenTurn;
  /** Notification channel of the process that waits for the reply. */
  waiter: string;
  streams: boolean;
}

const hold = statement<{ id: string }>(
  'turn.hold_question',
  `update conversation_turn set asked_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
    where organization_id = $1 and environment = $2 and id = $3 and status in (${turnStates.sql('processing')})
   returning id`,
);

/** Whether it is answered; how long nobody should ask again otherwise. */
async function ask(
  services: FirstQuestionServices,
  scope: Scope,
  { open, waiter, streams }: FirstQuestion,
  signal: AbortSignal,
): Promise<'ended' | { askAgainInMs: number }> {
  const { retry } = services.turnPolicy;
  try {
    const call = { round: 1, streams, attempt: 1, signal };
    const { kind } = await askOpenTurn(services, scope, { turnId: open.id, waiter }, { open, rounds: [] }, call);
    return kind === 'ended' ? 'ended' : { askAgainInMs: 0 };
  } catch (error) {
    if (signal.aborted) return { askAgainInMs: 0 };
    if (error instanceof ProviderFailure) return { askAgainInMs: error.retryAfterMs ?? retry.initialIntervalMs };
    services.log.warn({ err: error, turnId: open.id }, 'a message could not be answered at once: its workflow goes on');
    return { askAgainInMs: retry.initialIntervalMs };
  }
}

async function askUnderLease(services: FirstQuestionServices, scope: Scope, question: FirstQuestion): Promise<void> {
  const { firstQuestions, draining, turnSigns } = services;
  const { leaseMs, renewEveryMs, drainMs } = firstQuestions.policy;
  const turnId = question.open.id;
  const stop = new AbortController();
  let renewed = Promise.resolve();
  const renew = async () => {
    // While the database is away the mark may run out, and the workflow asks too: as with a lost heartbeat of Temporal.
    const held = await scope.rows(hold, turnId, leaseMs).catch(() => undefined);
    if (held?.length === 0) stop.abort(new Error('The message has ended.'));
  };
  const renewal = setInterval(() => {
    renewed = renewed.then(renew);
  }, renewEveryMs);
  let stopping: NodeJS.Timeout | undefined;
  const drain = () => {
    stopping = setTimeout(() => stop.abort(new Error('The process is ending.')), drainMs);
  };
  if (draining.signal.aborted) drain();
  else draining.signal.addEventListener('abort', drain);
  try {
    const end = await ask(services, scope, question, stop.signal);
    if (end === 'ended') return;
    clearInterval(renewal);
    // Otherwise one that is under way could set the mark again.
    await renewed;
    await scope.rows(hold, turnId, end.askAgainInMs).catch(() => {});
    turnSigns.tellChange(turnId);
  } finally {
    clearInterval(renewal);
    clearTimeout(stopping);
    draining.signal.removeEventListener('abort', drain);
  }
}

/**
 * Asks the model of a new message in the process that took it, while Temporal takes its workflow. A mark in the
 * row, committed with it, says so: the workflow waits for as long as this process renews it. What this process records is
 * what the workflow would record, in the same transaction with the same charge. A process that dies leaves the mark to run
 * out, and the outbox entry that starts the workflow, which asks again. So a message is asked about by one at a time, and
 * whatever crashes, it is neither lost nor charged twice.
 * @param leave gives its place free
 */
export function askFirst(
  services: FirstQuestionServices,
  scope: Scope,
  question: FirstQuestion,
  leave: () => void,
): void {
  services.background.run('turn.ask', askUnderLease(services, scope, question).finally(leave));
}
