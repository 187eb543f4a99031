import type { DirectWork } from '../jobs/index.ts';
import type { Background } from '../platform/concurrency/background.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import { type AskServices, askOpenMessage } from './ask-open-message.ts';
import { messageStates } from './core/status.ts';
import type { OpenMessage } from './open-message.ts';

export interface DirectCallServices extends AskServices {
  directCalls: DirectWork<never>;
  background: Background;
  draining: AbortController;
  log: Log;
}

/** A message whose row has a lease of this process. */
interface DirectCall {
  open: OpenMessage;
  /** Notification channel of the process that waits for the reply. */
  waiter: string;
  streams: boolean;
}

const hold = statement({
  name: 'message.hold_lease',
  parameters: { messageId: 'uuid', leaseMs: 'float8' },
  row: { id: 'uuid' },
  text: `update conversation_message set asked_until = atelier_now() + make_interval(secs => :leaseMs / 1000)
    where organization_id = :organizationId and environment = :environment and id = :messageId and status in (${messageStates.sql('processing')})
   returning id`,
});

/** @returns after how many milliseconds the workflow may call the model; undefined: the message has ended */
async function ask(
  services: DirectCallServices,
  scope: Scope,
  { open, waiter, streams }: DirectCall,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { id } = open;
  const { retry } = services.messagePolicy;
  try {
    const call = { round: 1, streams, attempt: 1, signal };
    const { kind } = await askOpenMessage(services, scope, { id, waiter }, { open, rounds: [] }, call);
    return kind === 'ended' ? undefined : 0;
  } catch (error) {
    if (signal.aborted) return 0;
    if (error instanceof ProviderFailure) return error.retryAfterMs ?? retry.initialIntervalMs;
    services.log.warn(
      { err: error, messageId: id },
      'the direct call of a model failed: the workflow of the message continues',
    );
    return retry.initialIntervalMs;
  }
}

async function askUnderLease(services: DirectCallServices, scope: Scope, call: DirectCall): Promise<void> {
  const { directCalls, draining, messageEvents, log } = services;
  const { id } = call.open;
  const facts = { messageId: id, correlationId: scope.correlationId, ...scope.tenant };
  log.info(facts, 'message begun: its model is called directly');
  const lease = {
    draining: draining.signal,
    hold: async (ms: number) => (await scope.rows(hold, { messageId: id, leaseMs: ms })).length > 0,
  };
  await directCalls.underLease(lease, async (signal) => {
    const continueInMs = await ask(services, scope, call, signal);
    log.info(facts, continueInMs === undefined ? 'message ended' : 'the workflow of the message continues');
    return continueInMs;
  });
  messageEvents.notifyChange(id);
}

/**
 * Calls the model of a new message in the process that created it, while Temporal starts its workflow, which waits for
 * as long as this process renews its lease. The record is the same, in the same transaction with the same charge. So
 * only one of them calls the model at a time, and no crash loses or charges a message twice.
 * @param leave called when the call has ended
 */
export function callDirectly(services: DirectCallServices, scope: Scope, call: DirectCall, leave: () => void): void {
  services.background.run('message.ask', askUnderLease(services, scope, call).finally(leave));
}
