import type { Background } from '../platform/background.ts';
import type { Log } from '../platform/log.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { messageStates } from './core/status.ts';
import type { OpenMessage } from './open-message.ts';
import { type AskServices, askOpenMessage } from './question.ts';

/** Every duration is a value, so that tests take seconds. */
export interface DirectCallPolicy {
  /** Calls at the same time: of one organization, and in this process. Beyond these limits the workflow calls the model. */
  ofOrganization: number;
  ofProcess: number;
  /** A process that has not renewed its lease for this long counts as dead, and the workflow calls the model. */
  leaseMs: number;
  renewEveryMs: number;
  /** How long a process that stops lets its calls continue. Then the workflow calls the model, in another process. */
  drainMs: number;
}

export const defaultDirectCallPolicy: DirectCallPolicy = {
  ofOrganization: 16,
  ofProcess: 64,
  leaseMs: 10_000,
  renewEveryMs: 3_000,
  drainMs: 10_000,
};

/** Counts the models that this process calls directly, and limits them. */
export class DirectCalls {
  readonly policy: DirectCallPolicy;
  readonly #underWay = new Map<string, number>();
  #size = 0;

  constructor(policy: DirectCallPolicy = defaultDirectCallPolicy) {
    this.policy = policy;
  }

  /** How many are under way. */
  get size(): number {
    return this.#size;
  }

  /** @returns a function that leaves again; undefined when a limit is reached */
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

export interface DirectCallServices extends AskServices {
  directCalls: DirectCalls;
  background: Background;
  draining: AbortController;
  log: Log;
}

/** A message whose row has a lease of this process. */
export interface DirectCall {
  open: OpenMessage;
  /** Notification channel of the process that waits for the reply. */
  waiter: string;
  streams: boolean;
}

const hold = statement<{ id: string }>(
  'turn.hold_question',
  `update conversation_message set asked_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
    where organization_id = $1 and environment = $2 and id = $3 and status in (${messageStates.sql('processing')})
   returning id`,
);

/** @returns `ended`, or after how many ms the workflow may call the model */
async function ask(
  services: DirectCallServices,
  scope: Scope,
  { open, waiter, streams }: DirectCall,
  signal: AbortSignal,
): Promise<'ended' | { askAgainInMs: number }> {
  const { retry } = services.messagePolicy;
  try {
    const call = { round: 1, streams, attempt: 1, signal };
    const { kind } = await askOpenMessage(services, scope, { turnId: open.id, waiter }, { open, rounds: [] }, call);
    return kind === 'ended' ? 'ended' : { askAgainInMs: 0 };
  } catch (error) {
    if (signal.aborted) return { askAgainInMs: 0 };
    if (error instanceof ProviderFailure) return { askAgainInMs: error.retryAfterMs ?? retry.initialIntervalMs };
    services.log.warn(
      { err: error, turnId: open.id },
      'the direct call of a model failed: the workflow of the message continues',
    );
    return { askAgainInMs: retry.initialIntervalMs };
  }
}

async function askUnderLease(services: DirectCallServices, scope: Scope, question: DirectCall): Promise<void> {
  const { directCalls, draining, messageEvents } = services;
  const { leaseMs, renewEveryMs, drainMs } = directCalls.policy;
  const turnId = question.open.id;
  const facts = { turnId, correlationId: scope.correlationId, ...scope.tenant };
  services.log.info(facts, 'message begun: its model is called directly');
  const stop = new AbortController();
  let renewed = Promise.resolve();
  const renew = async () => {
    // While the database is unavailable the lease may expire, and the workflow calls the model too, as after a lost heartbeat.
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
    if (end === 'ended') {
      services.log.info(facts, 'message ended');
      return;
    }
    services.log.info(facts, 'the workflow of the message continues');
    clearInterval(renewal);
    // A renewal that is under way would extend the lease again.
    await renewed;
    await scope.rows(hold, turnId, end.askAgainInMs).catch(() => {});
    messageEvents.notifyChange(turnId);
  } finally {
    clearInterval(renewal);
    clearTimeout(stopping);
    draining.signal.removeEventListener('abort', drain);
  }
}

/**
 * Calls the model of a new message in the process that created it, while Temporal starts its workflow. The row is committed
 * with a lease: the workflow waits for as long as this process renews it. This process records the same as the workflow
 * would, in the same transaction with the same charge. If it dies, the lease expires, and the workflow, which the outbox
 * starts in any case, calls the model. So only one of them calls it at a time, and no crash loses or charges a message twice.
 * @param leave called when the call has ended
 */
export function callDirectly(
  services: DirectCallServices,
  scope: Scope,
  question: DirectCall,
  leave: () => void,
): void {
  services.background.run('turn.ask', askUnderLease(services, scope, question).finally(leave));
}
