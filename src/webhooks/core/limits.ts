import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const webhookLimits = planLimits({
  /** Webhooks of all kinds. An event has a delivery for each that is subscribed to it. */
  webhooks: {
    label: 'webhooks',
    position: 90,
    plans: { free: 20, pro: 100, team: 500, enterprise: 5_000 },
  },
  /** Maximum deliveries with attempts to come. Above it an event is recorded and not delivered. */
  waitingDeliveries: {
    label: 'deliveries that wait',
    position: 100,
    plans: { free: 50_000, pro: 500_000, team: 5_000_000, enterprise: 50_000_000 },
  },
});
