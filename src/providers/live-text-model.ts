import { toProviderFailure } from './failures.ts';
import { HttpExchange } from './http-exchange.ts';
import { findModel, type ListedModel, type ModelList, type TextProvider, textProviders } from './models.ts';
import { ProviderFailure, type TextAnswer, type TextModel, type TextRequest } from './ports.ts';
import { askInWords, type OutputForm, outputForm } from './structured-output.ts';

export interface LiveOptions {
  apiKey: string;
  /** Where the provider's API is; its own address unless given. */
  baseUrl?: string | undefined;
  /** Of one call as a whole. */
  timeoutMs: number;
  models: ModelList;
}

/** One question, ready to be put into a provider's own form. */
export interface Question {
  prompt: string;
  system: string | undefined;
  temperature: number | undefined;
  maxTokens: number | undefined;
  /** Absent too where the schema goes beyond what providers accept: then `system` asks for it in words. */
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
  /** Why the model stopped: it had finished, a limit of tokens, or what it was to read or write was refused. */
  end: 'finished' | 'limit' | 'refused';
}

/** Asks once. Throws whatever its SDK throws, and when the answer is not of the provider's form. */
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

/** JSON is sometimes handed over in a Markdown fence, whatever was asked for. */
const withoutFence = (text: string) => /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text;

/** What all live adapters have in common around the one thing that differs: how to ask. */
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
        const message = `${model.upstream} reached its limit of tokens before it wrote any text: raise maxTokens.`;
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
