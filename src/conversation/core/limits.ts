import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const conversationLimits = planLimits({
  /** Messages to models and agents, each of which occupies a worker. More are refused. */
  openMessages: {
    label: 'messages to models under way',
    position: 160,
    window: { name: 'open_messages', text: 'messages under way' },
    plans: { free: 5, pro: 25, team: 100, enterprise: 200 },
  },
});
