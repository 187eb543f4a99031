import type { RequestOptions } from '../core/options.ts';
import type { ReplyStream } from '../core/replies.ts';
import { chat } from '../generated/api/sdk.gen.ts';
import type { ChatRequest } from '../generated/api/types.gen.ts';
import { Chat as GeneratedChat } from '../generated/resources/chat.ts';

export class Chat extends GeneratedChat {
  /** Chat with a model, and read the reply as it is written. */
  stream(body: Omit<ChatRequest, 'stream'>, options?: RequestOptions): ReplyStream {
    return this.transport.reply(chat, { ...body, stream: true }, options);
  }
}
