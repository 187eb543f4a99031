import { z } from 'zod';
import { type Ask, type LiveOptions, liveTextModel } from './live-text-model.ts';

/** The API requires a limit. This one leaves room for thinking and a long answer; unused tokens cost nothing. */
const defaultMaxTokens = 16_384;

/** The last version of the API that accepts a temperature, for models that support one. */
const versionWithTemperature = { 'anthropic-version': '2023-06-01' };

const count = z.int().min(0);
const answer = z.object({
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
  stop_reason: z.string().nullable(),
  usage: z.object({
    input_tokens: count,
    output_tokens: count,
    cache_creation_input_tokens: count.nullish(),
    cache_read_input_tokens: count.nullish(),
  }),
});

const limits = ['max_tokens', 'model_context_window_exceeded'];

const ask: Ask = async ({ model, prompt, system, temperature, maxTokens, output, ...how }) => {
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
  const body = {
    ...model.params,
    model: model.upstream,
    max_tokens: maxTokens ?? Math.min(defaultMaxTokens, model.limits?.output ?? defaultMaxTokens),
    messages: [{ role: 'user' as const, content: prompt }],
    ...(system && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(output && { output_config: { format: { type: 'json_schema' as const, schema: output.schema } } }),
  };
  const headers = temperature === undefined ? {} : versionWithTemperature;
  const { content, stop_reason, usage } = answer.parse(
    await client.messages.create(body, { signal: how.signal, headers }),
  );
  return {
    text: content.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join(''),
    inputTokens: usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
    outputTokens: usage.output_tokens,
    end: stop_reason === 'refusal' ? 'refused' : limits.includes(stop_reason ?? '') ? 'limit' : 'finished',
  };
};

/** Claude, with the Messages API. */
export const anthropicTextModel = (options: LiveOptions) => liveTextModel('ANTHROPIC', ask, options);
