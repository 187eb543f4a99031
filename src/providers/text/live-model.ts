import { cleaned, cleanText } from '../../platform/core/clean-text.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { toProviderFailure } from '../failures.ts';
import { eventsOf, HttpExchange } from '../http-exchange.ts';
import type { Call, TextAnswer, TextRequest } from '../ports.ts';
import { checkCalls, checkContent, heldBack, type Listener } from './chat-answers.ts';
import type { ChatCall, ChatMessage, Models, ToolCall, ToolDeclaration } from './chat-ports.ts';
import { findModel, type ListedModel, type ModelList, type TextProvider, textProviders } from './models.ts';
import { askInWords, type OutputForm, outputForm } from './structured-output.ts';
import { offeredTools } from './tool-declarations.ts';

export interface LiveOptions {
  apiKey: string;
  /** Base URL of the API; the provider's own by default. */
  baseUrl?: string | undefined;
  /** Timeout of one call, including reading the response. */
  timeoutMs: number;
  models: ModelList;
}

/** A request in a form that is common to all providers. */
export interface Question {
  /** Not empty. */
  messages: readonly ChatMessage[];
  system: string | undefined;
  temperature: number | undefined;
  maxTokens: number | undefined;
  /** Undefined if providers do not support the schema; `system` then contains it. */
  output: OutputForm | undefined;
  tools: readonly ToolDeclaration[];
  /** Whether the model may call a tool now. If not, only the tools that it has called are declared. */
  mayCall: boolean;
  model: ListedModel;
  apiKey: string;
  baseUrl: string | undefined;
  timeoutMs: number;
  fetch: HttpExchange['fetch'];
  signal: AbortSignal;
  /** Requests a stream, and receives its text. */
  onText: Listener | undefined;
}

export interface Reply {
  text: string;
  calls: ToolCall[];
  /** The data that the provider needs unchanged before the results of the calls. */
  content: unknown;
  inputTokens: number;
  outputTokens: number;
  /** Why the model stopped: it finished, reached a token limit, or the provider refused the content. */
  end: 'finished' | 'limit' | 'refused';
}

/** Makes one call. Throws the SDK's errors, and an error for an invalid response. */
export type Ask = (question: Question) => Promise<Reply>;

/** The request, of either kind. */
type Asked = Pick<TextRequest, 'model' | 'system' | 'temperature' | 'maxTokens' | 'outputSchema'> &
  Pick<Question, 'messages' | 'tools' | 'mayCall'>;

function formOf(request: Asked, model: ListedModel): Pick<Question, 'system' | 'maxTokens' | 'output'> {
  const { system, maxTokens, outputSchema } = request;
  const limit = model.limits?.output;
  const output = outputSchema && outputForm(outputSchema);
  return {
    maxTokens: maxTokens !== undefined && limit !== undefined ? Math.min(maxTokens, limit) : maxTokens,
    output,
    system: outputSchema && !output ? askInWords(outputSchema, system) : system,
  };
}

const fence = '```';

/** Models sometimes wrap JSON in a Markdown fence. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith(fence) || !trimmed.endsWith(fence)) return text;
  const opened = trimmed.indexOf('\n');
  const closed = trimmed.lastIndexOf('\n');
  const isFenced =
    opened < closed &&
    ['', 'json'].includes(trimmed.slice(fence.length, opened).trim()) &&
    trimmed.slice(closed).trim() === fence;
  return isFenced ? trimmed.slice(opened + 1, closed).trim() : text;
}

/** Without text that can neither be stored nor sent back. */
function cleanedReply({ text, calls, content, ...rest }: Reply): Reply {
  return { ...rest, text: cleanText(text), calls: cleaned(calls), content: cleaned(content) };
}

/** Live models. `ask` makes the provider's call; everything else is common to all providers. */
export function liveModel(provider: TextProvider, ask: Ask, options: LiveOptions): Models {
  const title = textProviders[provider];

  async function askOnce(asked: Asked, { signal }: Call, onText?: Listener): Promise<TextAnswer & { reply: Reply }> {
    signal.throwIfAborted();
    const model = findModel(options.models, provider, asked.model);
    const { apiKey, baseUrl, timeoutMs } = options;
    const form = formOf(asked, model);
    const exchange = new HttpExchange(timeoutMs, onText ? 'events' : 'json', eventsOf(form.maxTokens));
    const { messages, tools, mayCall } = asked;
    const ignored = asked.temperature !== undefined && !model.temperature;
    let reply: Reply;
    try {
      reply = await ask({
        ...form,
        messages,
        tools,
        mayCall,
        onText,
        temperature: ignored ? undefined : asked.temperature,
        model,
        apiKey,
        baseUrl,
        timeoutMs,
        signal,
        fetch: exchange.fetch,
      });
      checkCalls(reply.calls);
      checkContent([reply.content, reply.calls]);
      reply = cleanedReply(reply);
    } catch (error) {
      signal.throwIfAborted();
      const names = { name: asked.model, upstream: model.upstream };
      throw toProviderFailure(error, { provider: title, model: names, timeoutMs, exchange, apiKey });
    } finally {
      exchange.close();
    }
    if (reply.end === 'refused') throw new ProviderFailure('content_refused', `${title} refused the content.`);
    if (reply.end === 'limit' && reply.text === '') {
      const message = `${model.upstream} reached its token limit before it wrote any text. Increase maxTokens.`;
      throw new ProviderFailure('invalid_request', message);
    }
    const { text, inputTokens, outputTokens } = reply;
    return {
      reply,
      text,
      inputTokens,
      outputTokens,
      served: { provider, model: model.upstream },
      ...(reply.end === 'limit' && { truncated: true as const }),
      ...(ignored && { ignored: ['temperature' as const] }),
    };
  }

  return {
    isInstant: () => false,

    async generate({ prompt, ...request }, call): Promise<TextAnswer> {
      const messages = [{ role: 'user' as const, text: prompt }];
      const { onText, end, close } = heldBack(call, false);
      try {
        const { reply: _, ...answer } = await askOnce(
          { ...request, messages, tools: [], mayCall: false },
          call,
          onText,
        );
        end(false);
        return request.outputSchema ? { ...answer, text: withoutFence(answer.text) } : answer;
      } finally {
        close();
      }
    },

    async reply(request, call: ChatCall) {
      const offered = offeredTools(request);
      const { onText, end, close } = heldBack(call, offered.mayCall);
      try {
        const { reply, ...answer } = await askOnce({ ...request, ...offered }, call, onText);
        const calls = offered.mayCall && !answer.truncated ? reply.calls : [];
        end(calls.length > 0);
        // Streamed text cannot be taken back.
        const text = request.outputSchema && !onText ? withoutFence(answer.text) : answer.text;
        return { ...answer, text, calls, content: reply.content };
      } finally {
        close();
      }
    },
  };
}
