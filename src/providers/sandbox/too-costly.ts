import type { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';

/**
 * The final failure of a request that reached a limit of the sandbox. Only the limit of time makes it a timeout.
 * @param sentence what was not done, with its period
 */
export function tooCostly(sentence: string, { limit, message }: WorkTooCostly): ProviderFailure {
  const kind = limit === 'time' ? 'timeout' : 'unavailable';
  return new ProviderFailure(kind, `${sentence} ${message}`, { retryable: false });
}
