import { planLimits } from '../../tenancy/core/plan-limits.ts';

// Maximum numbers: after a downgrade existing resources stay, but none can be added.
export const automationLimits = planLimits({
  workflows: {
    label: 'workflows',
    position: 70,
    plans: { free: 50, pro: 500, team: 5_000, enterprise: 50_000 },
  },
  schedules: {
    label: 'schedules',
    position: 80,
    plans: { free: 5, pro: 50, team: 500, enterprise: 5_000 },
  },
  triggers: {
    label: 'triggers of workflows',
    position: 85,
    plans: { free: 10, pro: 100, team: 1_000, enterprise: 10_000 },
  },
  /** Runs whose step is calling out at the same time. More wait in order. */
  callingRuns: {
    label: 'runs that call out at the same time',
    position: 150,
    min: 1,
    plans: { free: 5, pro: 25, team: 100, enterprise: 200 },
  },
  waitingRuns: {
    label: 'waiting runs',
    position: 155,
    plans: { free: 100, pro: 5_000, team: 50_000, enterprise: 500_000 },
  },
  openApprovals: {
    label: 'open approvals',
    position: 156,
    plans: { free: 50, pro: 1_000, team: 10_000, enterprise: 100_000 },
  },
  /** Runs that may not begin yet: delayed, over the concurrency of their workflow, or of a workflow that is paused. */
  queuedRuns: {
    label: 'runs that wait to begin',
    position: 152,
    plans: { free: 1_000, pro: 20_000, team: 200_000, enterprise: 2_000_000 },
  },
  /** Batches with runs that have not ended. */
  openBatches: {
    label: 'open batches',
    position: 154,
    plans: { free: 1, pro: 5, team: 20, enterprise: 100 },
  },
});
