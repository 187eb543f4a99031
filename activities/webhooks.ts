import { ApplicationFailure, Context } from '@temporalio/activity';
import { AppError } from '../src/platform/errors.ts';
import type { Scope } from '../src/platform/scope.ts';
import type { Services } from '../src/services.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { DeliveryProgress } from '../src/temporal/contracts/webhooks.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { attemptDeliveries } from '../src/webhooks/attempt-deliveries.ts';
import { AttemptRecorder } from '../src/webhooks/attempt-recorder.ts';
import { type RedrivenPage, type RedrivePage, redrivePage } from '../src/webhooks/dead-letters.ts';
import { findProgress } from '../src/webhooks/delivery-workflow.ts';
import { failPoint } from '../src/webhooks/fail-points.ts';
import { leaseRetry } from '../src/webhooks/lease-retry.ts';
import { discardAsOperator, operatorScopeOf, renewAsOperator } from '../src/webhooks/operator-actions.ts';
import { scopeOf } from './work-scope.ts';

export type DeliveryRef = WorkContext & { deliveryId: string };

const heartbeatMs = 2_000;

const tenantOf = ({ organizationId, environment }: WorkContext) => ({ organizationId, environment });

/** A delivery whose row is gone needs nothing more. */
const gone: DeliveryProgress = { kind: 'over', status: 'failed' };

const standing = async (scope: Scope, deliveryId: string) => (await findProgress(scope, deliveryId)) ?? gone;

async function withHeartbeat<Result>(activity: Context, work: () => Promise<Result>): Promise<Result> {
  const heartbeat = setInterval(() => activity.heartbeat(), heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
  }
}

export const createWebhookActivities = (
  services: Services,
  recorder = new AttemptRecorder(services.log, services.deliveryPolicy),
) => ({
  /** Makes the next attempt of a delivery that failed. Where its webhook leaves no place, the dispatcher makes it later. */
  async attemptDelivery({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
    const { database, deliveryPolicy, deliveries } = services;
    const scope = scopeOf(database, context);
    const activity = Context.current();
    // An earlier try of this activity may have recorded the attempt before its worker died: the next one keeps its time.
    if (activity.info.attempt > 1) {
      const progress = await standing(scope, deliveryId);
      if (progress.kind !== 'wait' || progress.ms > 0) return progress;
    }
    const lease = await leaseRetry(scope, deliveryId, deliveryPolicy);
    if (lease.kind === 'over') return standing(scope, deliveryId);
    if (lease.kind === 'wait') {
      if (lease.held) deliveries.wake();
      return { kind: 'wait', ms: lease.ms };
    }
    failPoint('retry.claimed');
    return withHeartbeat(activity, async () => {
      const signal = activity.cancellationSignal;
      const [attempt] = await attemptDeliveries(services, recorder, scope, [deliveryId], signal);
      const ended = await attempt;
      // Its place is free.
      deliveries.wake();
      if (ended?.error !== undefined) throw ended.error;
      return standing(scope, deliveryId);
    });
  },

  /** Reads how the delivery stands. */
  lookAtDelivery({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
    return standing(scopeOf(services.database, context), deliveryId);
  },

  /** Gives a dead letter a whole new schedule, unless its subscription is turned off. */
  async replayDeadLetter({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
    const scope = operatorScopeOf(services.database, tenantOf(context), context.correlationId);
    const renewed = await renewAsOperator(scope, deliveryId);
    failPoint('delivery.replayed');
    const progress = await standing(scope, deliveryId);
    if (renewed || progress.kind !== 'dead_lettered') return progress;
    return { ...progress, why: `${progress.why}, and not replayed, because its webhook is turned off` };
  },

  /** Fails a dead letter for ever. */
  async discardDeadLetter({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
    const scope = operatorScopeOf(services.database, tenantOf(context), context.correlationId);
    await discardAsOperator(scope, deliveryId);
    failPoint('delivery.discarded');
    return standing(scope, deliveryId);
  },

  async redrivePage(page: RedrivePage): Promise<RedrivenPage> {
    try {
      return await redrivePage(services.database, services.events, page);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidArguments);
    }
  },
});

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
