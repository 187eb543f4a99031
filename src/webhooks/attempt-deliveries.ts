import type { Scope } from '../platform/scope.ts';
import { type AttemptServices, type AttemptWork, loadAttempts, makeAttempt } from './attempt.ts';
import type { AttemptRecorder } from './attempt-recorder.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { failPoint } from './fail-points.ts';
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
  /** Undefined when nothing was recorded: then the attempt is made again once its lease has ended. */
  recorded: Recorded | undefined;
  /** Why it could not be made. */
  error?: unknown;
}

/**
 * Makes attempts of one tenant that the caller has leased, first attempts and retries alike: loads what they need, sends
 * them at the same time and records each as it ends.
 * @param signal cuts off what is under way, which is then given back
 * @returns once they are under way, a promise for each that never rejects; none for deliveries that are gone
 * @throws what PostgreSQL throws; nothing was sent then
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

async function attemptOne(
  services: AttemptDeliveriesServices,
  recorder: AttemptRecorder,
  scope: Scope,
  work: AttemptWork,
  signal: AbortSignal,
): Promise<EndedAttempt> {
  const { deliveryId } = work;
  const isRetry = work.attempts > 0;
  try {
    const outcome = await makeAttempt(services, scope.tenant, work, signal);
    failPoint(isRetry ? 'retry.sent' : 'delivery.sent');
    const recorded = await recorder.record(scope, outcome);
    failPoint(isRetry ? 'retry.recorded' : 'delivery.recorded');
    if (recorded) services.countAttempt(recorded.status);
    return { deliveryId, isRetry, recorded };
  } catch (error) {
    // Cut off, it may be made again at once; otherwise when its lease ends.
    if (signal.aborted) await returnLeases(scope, [deliveryId]).catch(() => {});
    else services.log.error({ err: error, deliveryId }, 'a delivery cannot be sent');
    return { deliveryId, isRetry, recorded: undefined, error };
  }
}
