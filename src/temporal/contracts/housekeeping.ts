export const housekeepingWorkflows = { housekeeping: 'housekeeping' } as const;

export interface HousekeepingWorkflows {
  housekeeping(): Promise<void>;
}
