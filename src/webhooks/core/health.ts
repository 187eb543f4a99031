/** The health of a webhook's receiver, by its latest attempts. */
export const healthStates = {
  healthy: 'the latest attempt succeeded, or no attempt has been made',
  failing: 'the latest attempt failed',
  open: 'ten attempts in a row failed, one attempt every 30 seconds probes the receiver, and other deliveries wait',
} as const;

export type HealthState = keyof typeof healthStates;

/** The state of the receiver by the state of its breaker. */
export function healthState(failuresInARow: number, isOpen: boolean): HealthState {
  if (isOpen) return 'open';
  return failuresInARow > 0 ? 'failing' : 'healthy';
}

/** In [0, 1], to four places; null without attempts. */
export const successRate = (delivered: number, failed: number): number | null =>
  delivered + failed === 0 ? null : Math.round((delivered / (delivered + failed)) * 10_000) / 10_000;
