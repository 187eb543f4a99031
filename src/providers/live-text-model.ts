import { toProviderFailure } from './failures.ts';
import { HttpExchange } from './http-exchange.ts';
import { findModel, type ListedModel, type ModelList, type TextProvider, textProviders } from './models.ts';
import { ProviderFailure, type TextAnswer, type TextModel, type TextRequest } from './ports.ts';
import { askInWords, type OutputForm, outputForm } from './structured-output.ts';

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
  prompt: string;
  system: string | undefined;
  temperature: number | undefined;
  maxTokens: number | undefined;
  /** Undefined if providers do not support the schema; `system` then contains it. */
  output: OutputForm | undefined;
  model: ListedModel;
  apiKey: string;
  baseUrl: string | undefined;
  timeoutMs: number;
  fetch: HttpExchange['fetch'];
  signal: AbortSignal;
}

export interface Reply {
  text: string;
  inputTokens: number;
  outputTokens: number;
  /** Why the model stopped: it finished, reached a token limit, or the provider refused the content. */
  end: 'finished' | 'limit' | 'refused';
}

/** Makes one call. Throws the SDK's errors, and an error for an invalid response. */
export type Ask = (question: Question) => Promise<Reply>;

function questionOf(request: TextRequest, model: ListedModel): Pick<Question, 'system' | 'maxTokens' | 'output'> {
  const { system, maxTokens, outputSchema } = request;
  const limit = model.limits?.output;
  const output = outputSchema && outputForm(outputSchema);
  return {
    maxTokens: maxTokens !== undefined && limit !== undefined ? Math.min(maxTokens, limit) : maxTokens,
    output,
    system: outputSchema && !output ? askInWords(outputSchema, system) : system,
  };
}

/** Models sometimes wrap JSON in a Markdown fence. */
const withoutFence = (text: string) => /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text;

/** A live text model. `ask` makes the provider's call; everything else is common to all providers. */
export function liveTextModel(provider: TextProvider, ask: Ask, options: LiveOptions): TextModel {
  const title = textProviders[provider];
  return {
    isInstant: () => false,

    async generate(request, { signal }): Promise<TextAnswer> {
      signal.throwIfAborted();
      const model = findModel(options.models, provider, request.model);
      const exchange = new HttpExchange();
      const { apiKey, baseUrl, timeoutMs } = options;
      const ignored = request.temperature !== undefined && !model.temperature;
      let reply: Reply;
      try {
        reply = await ask({
          ...questionOf(request, model),
          prompt: request.prompt,
          temperature: ignored ? undefined : request.temperature,
          ...{ model, apiKey, baseUrl, timeoutMs, signal, fetch: exchange.fetch },
        });
      } catch (error) {
        signal.throwIfAborted();
        const names = { name: request.model, upstream: model.upstream };
        throw toProviderFailure(error, { provider: title, model: names, timeoutMs, exchange, apiKey });
      }
      if (reply.end === 'refused') throw new ProviderFailure('content_refused', `${title} refused the content.`);
      if (reply.end === 'limit' && reply.text === '') {
        const message = `${model.upstream} reached its token limit before it wrote any text. Increase maxTokens.`;
        throw new ProviderFailure('invalid_request', message);
      }
      return {
        text: request.outputSchema ? withoutFence(reply.text) : reply.text,
        inputTokens: reply.inputTokens,
        outputTokens: reply.outputTokens,
        served: { provider, model: model.upstream },
        ...(reply.end === 'limit' && { truncated: true as const }),
        ...(ignored && { ignored: ['temperature' as const] }),
      };
    },
  };
}
