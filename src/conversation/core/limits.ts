import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const conversationLimits = planLimits({
  /** Maximum messages to models and agents under way, each of which occupies a worker. Further ones are refused. */
  openMessages: {
    label: 'messages to models under way',
    position: 160,
    window: { name: 'open_messages', text: 'messages under way' },
    plans: { free: 5, pro: 25, team: 100, enterprise: 200 },
  },
});
