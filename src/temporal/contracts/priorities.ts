/**
 * Temporal's priorities, from 1 to 5: of the tasks that wait in one queue, those with a lower number are dispatched first.
 * Activities have the priority of their workflow.
 */
export const priorities = {
  /** Runs, for which a caller may wait, and the short workflows of the clock. */
  prompt: 1,
  /** The priority of operators' requests, and the default in the queue of integrations. */
  operator: 2,
  /** Retries of deliveries. */
  retry: 3,
  /** What its caller says can wait. */
  low: 4,
  /** Waits, or clears up: no caller waits for it. */
  background: 5,
} as const;

/** Priorities of integration actions, by what their callers request. No caller waits for a delayed action. */
export const actionPriorities = {
  now: { high: priorities.prompt, normal: priorities.operator, low: priorities.low },
  later: { high: priorities.operator, normal: priorities.retry, low: priorities.low },
} as const;

export type Priority = (typeof priorities)[keyof typeof priorities];
