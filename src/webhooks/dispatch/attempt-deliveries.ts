import type { Scope } from '../../platform/database/scope.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { failPoint } from '../fail-points.ts';
import { type AttemptOutcome, type AttemptServices, type AttemptWork, loadAttempts, makeAttempt } from './attempt.ts';
import type { AttemptRecorder } from './attempt-recorder.ts';
import { returnLeases } from './lease.ts';
import type { Recorded } from './record-attempts.ts';

export interface AttemptDeliveriesServices extends AttemptServices {
  /** Counts an attempt in the metrics. */
  countAttempt(status: DeliveryStatus): void;
}

/** How a leased attempt ended. */
export interface EndedAttempt {
  deliveryId: string;
  isRetry: boolean;
  /** Undefined if nothing was recorded: the attempt is repeated after its lease expires, or was recorded before. */
  recorded: Recorded | undefined;
  /** Why the attempt could not be made. */
  error?: unknown;
}

/**
 * Makes the next attempts of deliveries that the caller has leased: loads them, sends them concurrently and records each
 * as it ends. First attempts and retries, of one tenant.
 * @param signal aborts attempts in flight; their leases are returned
 * @returns once they are in flight: a promise for each delivery that still exists, which never rejects
 * @throws what PostgreSQL throws while they are loaded; nothing was sent then
 */
export async function attemptDeliveries(
  services: AttemptDeliveriesServices,
  recorder: AttemptRecorder,
  scope: Scope,
  leased: readonly string[],
  signal: AbortSignal,
): Promise<Promise<EndedAttempt>[]> {
  const works = await loadAttempts(scope, leased);
  return works.map((work) => attemptOne(services, recorder, scope, work, signal));
}

/** The log entry of an attempt. It contains nothing of its receiver. */
const factsOf = ({ work, result, durationMs }: AttemptOutcome) => ({
  webhookId: work.subscriptionId,
  eventType: work.eventType,
  attempt: work.attempts + 1,
  ms: durationMs,
  ...(result.errorClass === undefined ? { statusCode: result.status } : { errorClass: result.errorClass }),
  correlationId: work.correlationId,
});

async function attemptOne(
  services: AttemptDeliveriesServices,
  recorder: AttemptRecorder,
  scope: Scope,
  work: AttemptWork,
  signal: AbortSignal,
): Promise<EndedAttempt> {
  const { deliveryId, correlationId } = work;
  const isRetry = work.attempts > 0;
  const { subscriptionId: webhookId, eventType } = work;
  if (!isRetry)
    services.log.info({ deliveryId, webhookId, eventType, correlationId, ...scope.tenant }, 'delivery begun');
  try {
    const outcome = await makeAttempt(services, scope.tenant, work, signal);
    failPoint(isRetry ? 'retry.sent' : 'delivery.sent');
    const recorded = await recorder.record(scope, outcome);
    failPoint(isRetry ? 'retry.recorded' : 'delivery.recorded');
    if (recorded) {
      services.countAttempt(recorded.status);
      services.log.info({ ...factsOf(outcome), ...recorded, ...scope.tenant }, 'delivery attempted');
    }
    return { deliveryId, isRetry, recorded };
  } catch (error) {
    // An aborted attempt may be made again at once; any other one after its lease expires.
    if (signal.aborted) await returnLeases(scope, [deliveryId]).catch(() => {});
    else services.log.error({ err: error, deliveryId, correlationId }, 'a delivery cannot be sent');
    return { deliveryId, isRetry, recorded: undefined, error };
  }
}
