import type { ApiFeature } from '../../mount.ts';
import { agentRoutes, chatRoutes } from './messages.ts';

export const chat: ApiFeature = {
  tags: [
    { name: 'Chat', description: 'Talk to a model, or to an agent with your own instructions. Both can use tools.' },
  ],
  overview: { title: 'Chat, agents and voice', text: 'Conversations with tools, text to speech, and transcription' },
  example: {
    title: 'Chat and agents',
    text: 'Send a conversation to a model. With `"stream": true` the reply arrives as Server-Sent Events. An agent has your instructions.',
    commands: ({ send }) => [
      send('/api/chat', '{"messages": [{"role": "user", "content": "Who wrote the first program?"}]}'),
      send('/api/agents/chat', '{"systemPrompt": "You answer in one sentence.", "message": "What is a monad?"}'),
    ],
  },
  ids: [],
  routes: (services) => [chatRoutes(services)],
};

export const agents: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [agentRoutes(services)],
};
