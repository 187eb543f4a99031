import type { ApiFeature } from '../../mount.ts';
import { agentRoutes, chatRoutes } from './messages.ts';

export const chat: ApiFeature = {
  tags: [
    { name: 'Chat', description: 'Talk to a model, or to an agent with your own instructions. Both can use tools.' },
  ],
  ids: [],
  routes: (services) => [chatRoutes(services)],
};

export const agents: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [agentRoutes(services)],
};
