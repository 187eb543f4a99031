import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import { AppError } from '../src/platform/errors.ts';
import type { Services } from '../src/services.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type {
  DeadLetterProgress,
  DeliveryProgress,
  RetryLook,
  RetryOrders,
} from '../src/temporal/contracts/webhooks.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { type RedrivenPage, type RedrivePage, redrivePage } from '../src/webhooks/dead-letters/dead-letters.ts';
import { discardAsOperator, operatorScopeOf, renewAsOperator } from '../src/webhooks/dead-letters/operator-actions.ts';
import { awaitAttempt, findDeadLetterProgress, findProgress } from '../src/webhooks/deliveries/delivery-progress.ts';
import { failPoint } from '../src/webhooks/fail-points.ts';
import { lookAtRetries } from '../src/webhooks/retries/retry-release.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';

type DeliveryRef = WorkContext & { deliveryId: string };
type SubscriptionRef = WorkContext & { subscriptionId: string };

const heartbeatMs = 2_000;
/** Between two looks at an attempt that a caller waits for. */
const pauseMs = 100;

export const createWebhookActivities = (services: Services) => {
  const { database, deliveryPolicy, deliveries } = services;
  const operatorScope = ({ organizationId, environment, correlationId }: WorkContext) =>
    operatorScopeOf(database, { organizationId, environment }, correlationId);

  return {
    /** Performs the requests of operators, releases the retries that are due soon, and returns when to look again. */
    async lookAtRetries({
      subscriptionId,
      orders,
      ...context
    }: SubscriptionRef & { orders: RetryOrders }): Promise<RetryLook> {
      const look = await lookAtRetries(scopeOf(database, context), subscriptionId, orders, deliveryPolicy);
      failPoint('retry.looked');
      return look;
    },

    /** Reads the state of a dead letter. */
    lookAtLetter({ deliveryId, ...context }: DeliveryRef): Promise<DeadLetterProgress> {
      return findDeadLetterProgress(scopeOf(database, context), deliveryId);
    },

    /** Waits for the first attempt of a replayed delivery. The dispatchers make it. */
    awaitAttempt({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
      deliveries.wake();
      return withHeartbeats(heartbeatMs, (signal) => {
        const pause = () => sleep(pauseMs, undefined, { signal });
        return awaitAttempt(scopeOf(database, context), deliveryId, deliveryPolicy, pause);
      });
    },

    /** Gives a dead letter a whole new schedule, unless its subscription is turned off. Its first attempt ignores the breaker. */
    async replayDeadLetter({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
      const scope = operatorScope(context);
      const renewed = await renewAsOperator(scope, deliveryId, { ignoresBreaker: true, byWorkflow: true });
      failPoint('delivery.replayed');
      const progress = await findProgress(scope, deliveryId);
      if (renewed || progress.kind !== 'dead_lettered') return progress;
      return {
        ...progress,
        why: `${progress.why}, and not replayed, because its webhook is turned off or its content was removed`,
      };
    },

    /** Fails a dead letter for ever. */
    async discardDeadLetter({ deliveryId, ...context }: DeliveryRef): Promise<DeliveryProgress> {
      const scope = operatorScope(context);
      await discardAsOperator(scope, deliveryId);
      failPoint('delivery.discarded');
      return findProgress(scope, deliveryId);
    },

    async redrivePage(page: RedrivePage): Promise<RedrivenPage> {
      try {
        return await redrivePage(database, services.events, page);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidArguments);
      }
    },
  };
};

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
