import { planLimits } from '../../tenancy/core/plan-limits.ts';

// The work of finding free times grows with them. After a downgrade existing ones stay, but none can be added.
export const schedulingLimits = planLimits({
  hosts: {
    label: 'hosts of scheduling',
    position: 110,
    plans: { free: 5, pro: 50, team: 200, enterprise: 500 },
  },
  recurringPatterns: {
    label: 'recurring patterns',
    position: 120,
    plans: { free: 20, pro: 50, team: 100, enterprise: 200 },
  },
  blackoutPeriods: {
    label: 'blackout periods',
    position: 130,
    plans: { free: 50, pro: 200, team: 500, enterprise: 1_000 },
  },
  eventTypes: {
    label: 'event types of scheduling',
    position: 140,
    plans: { free: 50, pro: 500, team: 500, enterprise: 500 },
  },
});
