import { ApplicationFailure, Context } from '@temporalio/activity';
import { AppError } from '../src/platform/errors.ts';
import type { Scope } from '../src/platform/scope.ts';
import type { Services } from '../src/services.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { DeliveryProgress } from '../src/temporal/contracts/webhooks.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { loadAttempts, makeAttempt } from '../src/webhooks/attempt.ts';
import { type RedrivenPage, type RedrivePage, redrivePage } from '../src/webhooks/dead-letters.ts';
import { findProgress } from '../src/webhooks/delivery-workflow.ts';
import { failPoint } from '../src/webhooks/fail-points.ts';
import { claimAttempt } from '../src/webhooks/lease.ts';
import { discardAsOperator, operatorScopeOf, renewAsOperator } from '../src/webhooks/operator-actions.ts';
import { recordAttempts } from '../src/webhooks/record-attempts.ts';
import { scopeOf } from './runs.ts';

export type DeliveryRef = WorkContext & { deliveryId: string };

const heartbeatMs = 2_000;

const tenantOf = ({ organizationId, environment }: WorkContext) => ({ organizationId, environment });

/** A delivery whose row is gone needs nothing more. */
const gone: DeliveryProgress = { kind: 'over', status: 'failed' };

const standing = async (scope: Scope, deliveryId: string) => (await findProgress(scope, deliveryId)) ?? gone;

export const createWebhookActivities = (services: Services) => ({
  /** Makes the next attempt, unless its subscription holds it back or it is over. */
  async attemptDelivery({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
    const { database, deliveryPolicy } = services;
    const scope = scopeOf(database, context);
    const activity = Context.current();
    // A try before this one may have recorded its attempt and died before it said so: the next one keeps its time.
    if (activity.info.attempt > 1) {
      const progress = await standing(scope, deliveryId);
      if (progress.kind !== 'wait' || progress.ms > 0) return progress;
    }
    const claim = await claimAttempt(scope, deliveryId, deliveryPolicy);
    if (claim?.kind === 'hold') return { kind: 'wait', ms: claim.waitMs };
    const [work] = claim?.kind === 'go' ? await loadAttempts(scope, [deliveryId]) : [];
    if (!work) return standing(scope, deliveryId);
    failPoint('retry.claimed');
    const heartbeat = setInterval(() => activity.heartbeat(), heartbeatMs);
    try {
      const outcome = await makeAttempt(services, scope.tenant, work, activity.cancellationSignal);
      failPoint('retry.sent');
      for (const { status } of await recordAttempts(scope, [outcome], deliveryPolicy)) services.countAttempt(status);
      failPoint('retry.recorded');
      return await standing(scope, deliveryId);
    } finally {
      clearInterval(heartbeat);
    }
  },

  /** Where the delivery stands. */
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
