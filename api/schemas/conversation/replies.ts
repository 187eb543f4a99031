import { z } from '@hono/zod-openapi';
import type { AnsweredMessage } from '../../../src/conversation/messages.ts';

const toolCallSchema = z
  .object({
    name: z.string().openapi({ description: 'The id of the server, `_`, and the function.' }),
    args: z.record(z.string(), z.unknown()),
    result: z.string().openapi({ description: 'At most 32 KiB. The reason if the call failed.' }),
  })
  .openapi('ToolCall');

export const replySchema = z
  .object({
    content: z.string().openapi({ description: 'Empty only if the model ended without a text.' }),
    model: z.string().openapi({ description: 'As the request named it.' }),
    toolCalls: z.array(toolCallSchema).optional().openapi({ description: 'Present when tools were called.' }),
    truncated: z.literal(true).optional().openapi({ description: 'The text was cut off at a limit.' }),
  })
  .openapi('ChatReply');

/** The answer's data. */
export const replyRecord = ({ model, reply: { content, toolCalls, truncated } }: AnsweredMessage) => ({
  content,
  model,
  ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(({ name, args, result }) => ({ name, args, result })) }),
  ...(truncated && { truncated }),
});

const content = '[sandbox gemini-2.0-flash 8a1b5c0d2e3f] Say hello.';
const toolCall = { name: 'memory_read_graph', args: {}, result: '{"entities":[],"relations":[]}' };
const withTools = { content: 'There is nothing yet.', model: 'gemini-1.5-pro', toolCalls: [toolCall] };

export const replyExamples = { A: { content, model: 'gemini-2.0-flash' }, BWithTools: withTools };

const eventsOf = (...events: [string, object][]) =>
  events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');

export const replyEventsExamples = {
  A: eventsOf(
    ['tool_call', { index: 0, name: toolCall.name, args: toolCall.args }],
    ['tool_result', { index: 0, name: toolCall.name, result: toolCall.result, isError: false }],
    ['delta', { text: 'There is ' }],
    ['delta', { text: 'nothing yet.' }],
    ['reply', { ...withTools, creditsUsed: 2 }],
  ),
};
