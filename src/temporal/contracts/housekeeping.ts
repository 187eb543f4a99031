export const housekeepingWorkflows = { housekeeping: 'housekeeping' } as const;

export interface HousekeepingWorkflows {
  housekeeping(args?: HousekeepingArgs | null): Promise<SweepResult[]>;
}

/** The arguments of the Schedule for its workflow. */
export interface HousekeepingArgs {
  /** Task queue of the sweeps. */
  queue: string;
  /** Time between two starts by the Schedule. */
  tickMs: number;
}

/** The latest run of a sweep. */
export interface SweepResult {
  name: string;
  /** ISO 8601 */
  startedAt: string;
  status: 'done' | 'failed' | 'running';
  /** Undefined while it runs. */
  durationMs?: number;
  /** How many items it changed, when it is done. */
  changed?: number;
  /** Why it failed. */
  failure?: string;
}

/** One tick, as the workflow requests it. */
export interface TickArgs {
  /** Every sweep, whether it is due or not: an operator triggered the Schedule. */
  all: boolean;
  tickMs: number;
}
