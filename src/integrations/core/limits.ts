import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const integrationLimits = planLimits({
  /** Maximum actions under way, each of which occupies a worker. Further ones are refused. */
  openActions: {
    label: 'actions of integrations under way',
    position: 180,
    window: { name: 'open_actions', text: 'actions of integrations under way' },
    plans: { free: 5, pro: 25, team: 100, enterprise: 200 },
  },
  /** Actions that are to be performed later, which hold nothing but a row. */
  scheduledActions: {
    label: 'delayed actions of integrations',
    position: 190,
    window: { name: 'scheduled_actions', text: 'delayed actions of integrations' },
    plans: { free: 100, pro: 500, team: 2_000, enterprise: 10_000 },
  },
});
