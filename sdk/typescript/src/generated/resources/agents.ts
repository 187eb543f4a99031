// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Agents extends Resource {
  /**
   * Chat with an agent.
   *
   * Costs 1 credit, and 1 more if tools were called; both are reserved when `mcpServers` names any. A failure
   * costs nothing. `integration:<id>` among `mcpServers` offers the actions of a connected integration; that
   * needs the scope `integrations` too. The service does not store conversations: send the earlier messages with
   * each request. Disconnecting does not cancel a message: the same Idempotency-Key returns the reply for 24
   * hours, or 409 until there is one. With `stream` the answer is Server-Sent Events: `delta` {text}, `tool_call`
   * {index, name, args}, `tool_result` {index, name, result, isError}, `thought` {text} for what the model writes
   * beside its calls, and finally `reply`, which is the `data` of the answer without `stream`, with
   * `creditsUsed`, or `error`, which is the error of that answer. The deltas together are the content. With tools
   * they are sent when the model has finished, since a call could follow its text.
   */
  chat(body: NonNullable<api.ChatWithAgentData['body']>, options?: RequestOptions): Promise<api.ChatReply> {
    return this.transport.call(sdk.chatWithAgent, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
