import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../platform/observability/log.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { missingAttributesProblem } from '../temporal/namespace.ts';

const askMs = 5_000;
/** A server needs some seconds to use attributes that were just registered. */
const patienceMs = 5_000;
const everyMs = 500;

/** At the start of a process: logs an error if the Temporal namespace lacks search attributes. `/api/ready` is 503 then. */
export async function reportMissingAttributes(
  temporal: TemporalClient,
  log: Log,
  stopping: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const missing = await temporal.missingSearchAttributes(askMs);
    if (missing.length === 0 || stopping.aborted) return;
    if (performance.now() > deadline) {
      log.error({ namespace: temporal.namespace, missing }, missingAttributesProblem(temporal.namespace, missing));
      return;
    }
    await sleep(everyMs, undefined, { signal: stopping }).catch(() => {});
  }
}
