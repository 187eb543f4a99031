/**
 * Temporal's priorities, from 1 to 5: of the tasks that wait in one queue, those with a lower number are dispatched first.
 * Activities have the priority of their workflow.
 */
export const priorities = {
  /** Runs, for which somebody may be waiting, and the short workflows of the clock. */
  prompt: 1,
  /** What an operator asks for. */
  operator: 2,
  /** Retries of deliveries. */
  retry: 3,
  /** Waits, or clears up: nobody waits for it. */
  background: 5,
} as const;

export type Priority = (typeof priorities)[keyof typeof priorities];
