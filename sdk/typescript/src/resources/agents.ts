import type { RequestOptions } from '../core/options.ts';
import type { ReplyStream } from '../core/replies.ts';
import { chatWithAgent } from '../generated/api/sdk.gen.ts';
import type { AgentRequest } from '../generated/api/types.gen.ts';
import { Agents as GeneratedAgents } from '../generated/resources/agents.ts';

export class Agents extends GeneratedAgents {
  /** Chat with an agent, and read the reply as it is written. */
  stream(body: Omit<AgentRequest, 'stream'>, options?: RequestOptions): ReplyStream {
    return this.transport.reply(chatWithAgent, { ...body, stream: true }, options);
  }
}
