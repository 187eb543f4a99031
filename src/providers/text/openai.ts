import type { OpenAI } from 'openai';
import { z } from 'zod';
import { cleaned } from '../../platform/core/clean-text.ts';
import { parseArgs } from './chat-answers.ts';
import type { ChatMessage } from './chat-ports.ts';
import { type Ask, type LiveOptions, liveModel, type Question, type Reply } from './live-model.ts';
import { MessageParts } from './openai-stream.ts';
import { argumentsSchema } from './tool-declarations.ts';

type Chat = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming;

const count = z.int().min(0);
const toolCall = z.object({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) });
// Compatible servers give messages fields of their own, which they may want to have back.
const message = z.looseObject({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(toolCall.loose()).nullish(),
});
const answer = z.object({
  choices: z.array(z.object({ finish_reason: z.string().nullish(), message })).min(1),
  // Compatible servers may omit it.
  usage: z
    .object({ prompt_tokens: count, completion_tokens: count, total_tokens: count.optional() })
    .nullish()
    .transform((usage) => usage ?? { prompt_tokens: 0, completion_tokens: 0 }),
});
type Answer = z.infer<typeof answer>;

function messagesOf(message: ChatMessage): Chat[] {
  if (message.role === 'model') return [message.content as Chat];
  if (message.role !== 'tools') return [{ role: message.role, content: message.text }];
  return message.results.map(({ callId, text }) => ({ role: 'tool', tool_call_id: callId, content: text }));
}

function bodyOf({ model, messages, system, temperature, maxTokens, output, tools, mayCall }: Question): Body {
  return {
    ...model.params,
    model: model.upstream,
    messages: [...(system ? [{ role: 'system' as const, content: system }] : []), ...messages.flatMap(messagesOf)],
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(output && {
      response_format: {
        type: 'json_schema' as const,
        json_schema: { name: 'output', schema: output.schema, strict: output.allRequired },
      },
    }),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({
        type: 'function' as const,
        function: { name: tool.name, description: tool.description, parameters: argumentsSchema(tool) },
      })),
      ...(!mayCall && { tool_choice: 'none' as const }),
    }),
  };
}

/**
 * The arguments of a call as they are sent back: unchanged, unless they are not JSON, which compatible servers refuse in a
 * conversation, or have what no text may have.
 */
function readableArguments(text: string): string {
  const { args, unreadable } = parseArgs(text);
  if (unreadable !== undefined) return '{}';
  const clean = cleaned(args);
  return clean === args ? text : JSON.stringify(clean);
}

/** The message in the form of a request: without the members of answers. */
function contentOf({ annotations: _, ...said }: Answer['choices'][number]['message']): unknown {
  const present = Object.entries(said).filter(([name, value]) => name === 'content' || value != null);
  const calls = said.tool_calls?.map((call) => ({
    ...call,
    function: { ...call.function, arguments: readableArguments(call.function.arguments) },
  }));
  return { ...Object.fromEntries(present), ...(calls && { tool_calls: calls }), role: 'assistant' };
}

function replyOf({ choices, usage }: Answer): Reply {
  const { message, finish_reason } = choices[0]!;
  const isRefused = Boolean(message.refusal) || finish_reason === 'content_filter';
  const end = isRefused ? 'refused' : finish_reason === 'length' ? 'limit' : 'finished';
  const calls = end === 'finished' ? (message.tool_calls ?? []) : [];
  return {
    text: message.content ?? '',
    calls: calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, ...parseArgs(args) })),
    content: contentOf(message),
    inputTokens: usage.prompt_tokens,
    outputTokens: Math.max(usage.completion_tokens, (usage.total_tokens ?? 0) - usage.prompt_tokens),
    end,
  };
}

/** Uses Chat Completions, not Responses: all compatible servers support them, and they store nothing. */
const ask: Ask = async (question) => {
  const { onText, signal, ...how } = question;
  const { OpenAI } = await import('openai');
  const client = new OpenAI({
    apiKey: how.apiKey,
    baseURL: how.baseUrl ?? 'https://api.openai.com/v1',
    // The default would be read from the environment.
    organization: null,
    project: null,
    timeout: how.timeoutMs,
    maxRetries: 0,
    fetch: how.fetch,
    logLevel: 'off',
  });
  const body = bodyOf(question);
  if (!onText) return replyOf(answer.parse(await client.chat.completions.create(body, { signal })));
  const streamed = { ...body, stream: true as const, stream_options: { include_usage: true } };
  const parts = new MessageParts(onText);
  for await (const chunk of await client.chat.completions.create(streamed, { signal })) parts.add(chunk);
  return replyOf(answer.parse(parts.whole()));
};

/** OpenAI's models, and those of compatible servers. */
export const openaiModel = (options: LiveOptions) => liveModel('OPENAI', ask, options);
