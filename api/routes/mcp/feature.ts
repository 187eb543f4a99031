import type { Envelope } from '../../envelopes.ts';
import type { ApiFeature } from '../../mount.ts';
import { mcpEnvelope } from './envelope.ts';
import { messageRoutes } from './messages.ts';

/** The MCP server. Its protocol describes it to its clients, so the reference does not name it. */
export const mcp: ApiFeature & { envelope: Envelope } = {
  envelope: mcpEnvelope,
  tags: [],
  overview: { title: 'MCP', text: 'Workflows, runs and approvals as tools of assistants' },
  ids: [],
  routes: (services, build) => [messageRoutes(services, build)],
};
