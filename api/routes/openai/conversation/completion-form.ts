import { streamSSE } from 'hono/streaming';
import type { MessageReply } from '../../../../src/conversation/sealed-message.ts';
import type { ApiContext } from '../../../context.ts';
import type { ReplyForm } from '../../conversation/reply-form.ts';
import type { StreamedEvent, WrittenEvent } from '../../conversation/reply-stream.ts';
import { openaiEnvelope } from '../envelope.ts';
import type { RunAnswer } from '../workflow-models.ts';
import { argumentsOf, callIdOf } from './read-conversation.ts';

const idOf = (uuid: string) => `chatcmpl-${uuid.replaceAll('-', '')}`;

/** When a message was created, in Unix seconds: its id says it. */
export const createdOf = (messageId: string): number =>
  Math.floor(Number.parseInt(messageId.replace('-', '').slice(0, 12), 16) / 1000);

const usageOf = ({ usage }: MessageReply) =>
  usage && {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  };

const callsOf = (messageId: string, { asked }: MessageReply) =>
  asked?.calls.map((call, position) => ({
    id: callIdOf(messageId, position),
    type: 'function' as const,
    function: { name: call.name, arguments: argumentsOf(call) },
  }));

const finishOf = ({ asked, truncated }: MessageReply) => {
  if (asked) return 'tool_calls';
  return truncated ? 'length' : 'stop';
};

const written = (data: object): WrittenEvent => ({ data: JSON.stringify(data) });
const done: WrittenEvent = { data: '[DONE]' };

/** Makes the chunks of one stream. */
function chunkWriter(id: string, created: number, model: string, includesUsage: boolean) {
  const common = { id, object: 'chat.completion.chunk', created, model };
  const withUsage = includesUsage ? { usage: null } : {};
  return {
    delta: (delta: object, finish: string | null = null): WrittenEvent =>
      written({
        ...common,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...withUsage,
      }),
    usage: (usage: object | undefined): WrittenEvent[] =>
      includesUsage && usage ? [written({ ...common, choices: [], usage })] : [],
  };
}

/** Replies as chat completions. */
export const completionForm = (model: string, { includesUsage }: { includesUsage: boolean }): ReplyForm => ({
  whole({ id, reply }) {
    const calls = callsOf(id, reply);
    const usage = usageOf(reply);
    return {
      id: idOf(id),
      object: 'chat.completion',
      created: createdOf(id),
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: reply.content === '' ? null : reply.content,
            refusal: null,
            ...(calls && { tool_calls: calls }),
          },
          logprobs: null,
          finish_reason: finishOf(reply),
        },
      ],
      ...(usage && { usage }),
    };
  },

  stream(messageId) {
    const chunks = chunkWriter(idOf(messageId), createdOf(messageId), model, includesUsage);
    let hasBegun = false;
    const begin = (): WrittenEvent[] => {
      if (hasBegun) return [];
      hasBegun = true;
      return [chunks.delta({ role: 'assistant', content: '' })];
    };
    return (event: StreamedEvent) => {
      switch (event.name) {
        case 'delta':
          return [...begin(), chunks.delta({ content: event.text })];
        case 'answered': {
          const { reply } = event.message;
          const calls = callsOf(messageId, reply)?.map((call, index) => ({ index, ...call }));
          return [
            ...begin(),
            ...(calls ? [chunks.delta({ tool_calls: calls })] : []),
            chunks.delta({}, finishOf(reply)),
            ...chunks.usage(usageOf(reply)),
            done,
          ];
        }
        case 'failed': {
          const { failure } = event;
          return [written(openaiEnvelope(failure, { requestId: '', code: failure.code, facts: failure.facts }))];
        }
        default:
          return [];
      }
    };
  },
});

/** The result of a run as a chat completion. It has no usage: several models may have taken part. */
export function runCompletion(
  c: ApiContext,
  { runId, createdAt, text }: RunAnswer,
  { model, streams }: { model: string; streams: boolean },
): Response {
  const [id, created] = [idOf(runId), Math.floor(createdAt.getTime() / 1000)];
  if (!streams) {
    const message = { role: 'assistant', content: text, refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
    return c.json({ id, object: 'chat.completion', created, model, choices });
  }
  const chunks = chunkWriter(id, created, model, false);
  const answer = streamSSE(c, async (stream) => {
    await stream.writeSSE(chunks.delta({ role: 'assistant', content: '' }));
    await stream.writeSSE(chunks.delta({ content: text }));
    await stream.writeSSE(chunks.delta({}, 'stop'));
    await stream.writeSSE(done);
  });
  answer.headers.set('Cache-Control', 'no-store');
  return answer;
}
