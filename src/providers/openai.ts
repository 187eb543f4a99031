import { z } from 'zod';
import { type Ask, type LiveOptions, liveTextModel } from './live-text-model.ts';

const count = z.int().min(0);
const answer = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
      }),
    )
    .min(1),
  // Compatible servers may omit it.
  usage: z
    .object({ prompt_tokens: count, completion_tokens: count, total_tokens: count.optional() })
    .nullish()
    .transform((usage) => usage ?? { prompt_tokens: 0, completion_tokens: 0 }),
});

/** Uses Chat Completions, not Responses: all compatible servers support them, and they store nothing. */
const ask: Ask = async ({ model, prompt, system, temperature, maxTokens, output, ...how }) => {
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
  const { choices, usage } = answer.parse(
    await client.chat.completions.create(
      {
        ...model.params,
        model: model.upstream,
        messages: [
          ...(system ? [{ role: 'system' as const, content: system }] : []),
          { role: 'user' as const, content: prompt },
        ],
        ...(temperature !== undefined && { temperature }),
        ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
        ...(output && {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: 'output', schema: output.schema, strict: output.allRequired },
          },
        }),
      },
      { signal: how.signal },
    ),
  );
  const { message, finish_reason } = choices[0]!;
  const refused = Boolean(message.refusal) || finish_reason === 'content_filter';
  return {
    text: message.content ?? '',
    inputTokens: usage.prompt_tokens,
    outputTokens: Math.max(usage.completion_tokens, (usage.total_tokens ?? 0) - usage.prompt_tokens),
    end: refused ? 'refused' : finish_reason === 'length' ? 'limit' : 'finished',
  };
};

/** OpenAI's models, and those of compatible servers. */
export const openaiTextModel = (options: LiveOptions) => liveTextModel('OPENAI', ask, options);
