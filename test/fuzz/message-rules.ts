import type { Json } from '../openapi/document.ts';
import { oneOf, type WordedRule } from './schema-arbitrary.ts';

/** Rules of messages to models and of their tools. */
export const messageRules: WordedRule[] = [
  {
    at: ['ChatRequest.model', 'AgentRequest.model'],
    words: /or another listed text model/,
    follow: () => oneOf('gemini-2.0-flash', 'gemini-1.5-pro'),
  },
  {
    at: ['ChatRequest.mcpServers', 'AgentRequest.mcpServers'],
    words: /Ids of tool servers/,
    follow: () => oneOf([], ['github'], ['notion', 'docker']),
  },
  {
    at: ['ChatRequest.messages'],
    words: /The last message is the one to reply to, with the role user/,
    follow: (messages) =>
      messages.map((list) =>
        (list as Json[]).map((one, at, { length }) => (at < length - 1 ? one : { ...one, role: 'user' })),
      ),
  },
  {
    at: ['ToolServerChange'],
    words: /The server determines which values, secrets and address are allowed and which are required/,
    follow: (changes) =>
      changes.map(({ enabled }: Json) => ({ enabled, url: 'https://tools.example.com/', secrets: { token: 'x' } })),
  },
];
