import type { Anthropic } from '@anthropic-ai/sdk';
import { z } from 'zod';
import { ContentBlocks, limits } from './anthropic-stream.ts';
import { shallowArgs } from './chat-answers.ts';
import type { ChatMessage, ToolCall } from './chat-ports.ts';
import { type Ask, type LiveOptions, liveModel, type Question, type Reply } from './live-model.ts';
import { argumentsSchema } from './tool-declarations.ts';

type Message = Anthropic.MessageParam;
type Body = Anthropic.MessageCreateParamsNonStreaming;

/** The API requires a limit. This one leaves room for thinking and a long answer; unused tokens cost nothing. */
const defaultMaxTokens = 16_384;

/** The last version of the API that accepts a temperature, for models that support one. */
const versionWithTemperature = { 'anthropic-version': '2023-06-01' };

const count = z.int().min(0);
// Fields that are not named here are kept, as signatures must be.
const block = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
]);
const answer = z.object({
  content: z.array(z.union([block, z.looseObject({ type: z.string().regex(/^(?!text$|tool_use$)/) })])),
  stop_reason: z.string().nullable(),
  // Only for streams: the beginning of arguments that could not be read, by the id of their call.
  unreadable: z.record(z.string(), z.string()).default({}),
  usage: z.object({
    input_tokens: count,
    output_tokens: count,
    cache_creation_input_tokens: count.nullish(),
    cache_read_input_tokens: count.nullish(),
  }),
});
type Answer = z.infer<typeof answer>;
type Block = z.infer<typeof block>;

function messageOf(message: ChatMessage): Message {
  if (message.role === 'model') return { role: 'assistant', content: message.content as Anthropic.ContentBlockParam[] };
  if (message.role !== 'tools') return { role: message.role, content: message.text };
  const content = message.results.map(({ callId, text, isError }) => ({
    type: 'tool_result' as const,
    tool_use_id: callId,
    content: text,
    ...(isError && { is_error: true }),
  }));
  return { role: 'user', content };
}

const blocksOf = ({ content }: Message) =>
  typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;

/** Models expect messages of users and assistants alternately, beginning with a user. */
function alternating(messages: Message[]): Message[] {
  const result: Message[] = messages[0]?.role === 'assistant' ? [{ role: 'user', content: '…' }] : [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role === message.role) last.content = [...blocksOf(last), ...blocksOf(message)];
    else result.push(message);
  }
  return result;
}

function bodyOf({ model, messages, system, temperature, maxTokens, output, tools, mayCall }: Question): Body {
  return {
    ...model.params,
    model: model.upstream,
    max_tokens: maxTokens ?? Math.min(defaultMaxTokens, model.limits?.output ?? defaultMaxTokens),
    messages: alternating(messages.map(messageOf)),
    ...(system && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(output && { output_config: { format: { type: 'json_schema' as const, schema: output.schema } } }),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        input_schema: argumentsSchema(tool) as Anthropic.Tool.InputSchema,
      })),
      ...(!mayCall && { tool_choice: { type: 'none' as const } }),
    }),
  };
}

const isKnown = (said: Answer['content'][number]): said is Block => said.type === 'text' || said.type === 'tool_use';
/** The API writes empty texts, but does not take them back. */
const isEmptyText = (said: Answer['content'][number]) => isKnown(said) && said.type === 'text' && said.text === '';

type CallBlock = Extract<Block, { type: 'tool_use' }>;

const callOf = ({ id, name, input: args }: CallBlock, unreadable?: string): ToolCall =>
  unreadable === undefined ? { id, name, ...shallowArgs(args) } : { id, name, args, unreadable };

/** A block as it is sent back: without arguments that cannot be. */
const keptBlock = (said: Answer['content'][number]) =>
  isKnown(said) && said.type === 'tool_use' ? { ...said, input: shallowArgs(said.input).args } : said;

function replyOf({ content, stop_reason, usage, unreadable }: Answer): Reply {
  const known = content.filter(isKnown);
  return {
    text: known.map((said) => (said.type === 'text' ? said.text : '')).join(''),
    calls: known.flatMap((said) => (said.type === 'tool_use' ? [callOf(said, unreadable[said.id])] : [])),
    content: content.filter((said) => !isEmptyText(said)).map(keptBlock),
    inputTokens: usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
    outputTokens: usage.output_tokens,
    end: stop_reason === 'refusal' ? 'refused' : limits.includes(stop_reason ?? '') ? 'limit' : 'finished',
  };
}

const ask: Ask = async (question) => {
  const { onText, signal, ...how } = question;
  // Loaded on first use: an SDK takes half a second and 30 MB.
  const { Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({
    apiKey: how.apiKey,
    baseURL: how.baseUrl ?? 'https://api.anthropic.com',
    timeout: how.timeoutMs,
    maxRetries: 0,
    fetch: how.fetch,
    logLevel: 'off',
    openTelemetry: false,
  });
  const body = bodyOf(question);
  const options = { signal, headers: how.temperature === undefined ? {} : versionWithTemperature };
  if (!onText) return replyOf(answer.parse(await client.messages.create(body, options)));
  const blocks = new ContentBlocks(onText);
  for await (const event of await client.messages.create({ ...body, stream: true }, options)) blocks.add(event);
  return replyOf(answer.parse(blocks.whole()));
};

/** Claude, with the Messages API. */
export const anthropicModel = (options: LiveOptions) => liveModel('ANTHROPIC', ask, options);
