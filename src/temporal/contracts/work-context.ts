/** The tenant and request that a workflow works for. Plain values, because a Scope cannot cross a process. */
export interface WorkContext {
  organizationId: string;
  environment: 'live' | 'test';
  correlationId: string;
}

/** Temporal's fairness: tasks with the same key share capacity, in proportion to the weight. */
export interface Fairness {
  key: string;
  weight: number;
}
