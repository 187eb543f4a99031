import { createHash } from 'node:crypto';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { readSandboxTools } from '../core/sandbox-tools.ts';
import { readSandboxWords } from '../core/sandbox-words.ts';
import type { ChatAnswer, ChatMessage, ChatModel, ChatRequest, ToolCall } from '../text/chat-ports.ts';
import { pauseAsRequested, requestedFailure } from './requested.ts';
import { streamText } from './stream-text.ts';
import { countTokens, instance } from './text-model.ts';

const isOfRole =
  <R extends ChatMessage['role']>(role: R) =>
  (message: ChatMessage): message is Extract<ChatMessage, { role: R }> =>
    message.role === role;

/** The reply depends only on the request, so equal conversations have equal replies. */
function answerInWords({ model, system, temperature, messages }: ChatRequest, prompt: string, result?: string): string {
  const canonical = JSON.stringify([model, system ?? null, temperature ?? null, messages]);
  const digest = createHash('sha256').update(canonical).digest('hex').slice(0, 12);
  return `[sandbox ${model} ${digest}] ${prompt}${result === undefined ? '' : `\n${result}`}`;
}

const textOf = (message: ChatMessage): string => {
  if (message.role === 'tools') return message.results.map(({ text }) => text).join('');
  return message.role === 'model' ? JSON.stringify(message.content) : message.text;
};

const inputTokens = ({ system = '', messages }: ChatRequest) =>
  countTokens(system) + messages.reduce((sum, message) => sum + countTokens(textOf(message)), 0);

/**
 * A chat model without a provider. The words of the last user message decide its behaviour: each `sandbox:tool=` is a
 * call of that tool, one in each round, if the tool is declared. The reply has the message and the last result.
 */
export const sandboxChatModel = (work: BoundedWork): ChatModel => ({
  async reply(request, call): Promise<ChatAnswer> {
    call.signal.throwIfAborted();
    const { model, messages, tools = [] } = request;
    const since = messages.slice(Math.max(0, messages.findLastIndex(isOfRole('user'))));
    const text = since.find(isOfRole('user'))?.text ?? '';
    const { calls: requested, rest } = readSandboxTools(text);
    const words = readSandboxWords(rest, model);
    await pauseAsRequested(words, call);
    const failure = requestedFailure(words, model, call.attempt);
    if (failure) throw failure;

    const round = since.filter(isOfRole('model')).length;
    const offered = requested.filter(({ name }) => tools.some((tool) => tool.name === name));
    const next = offered[round];
    const tokens = { inputTokens: inputTokens(request) };
    if (next) {
      const calls: ToolCall[] = [{ id: `call_${round}`, ...next }];
      return { ...tokens, text: '', calls, content: { calls }, outputTokens: countTokens(JSON.stringify(calls)) };
    }
    const result = since.findLast(isOfRole('tools'))?.results.at(-1)?.text;
    const said = answerInWords(request, text, result);
    const { outputSchema } = request;
    const answer = outputSchema ? await instance(work, call.tenantKey, outputSchema, said) : said;
    if (call.onDelta) await streamText(answer, words.slowSeconds, call);
    return { ...tokens, text: answer, calls: [], content: { text: answer }, outputTokens: countTokens(answer) };
  },
});
