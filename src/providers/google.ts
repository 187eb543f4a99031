import { z } from 'zod';
import { type Ask, type LiveOptions, liveTextModel } from './live-text-model.ts';

const count = z.int().min(0).optional();
const part = z.object({ text: z.string().optional(), thought: z.boolean().optional() });
const answer = z.object({
  candidates: z
    .array(
      z.object({
        content: z.object({ parts: z.array(part).optional() }).optional(),
        finishReason: z.string().optional(),
      }),
    )
    .optional(),
  promptFeedback: z.object({ blockReason: z.string().optional() }).optional(),
  usageMetadata: z
    .object({
      promptTokenCount: count,
      toolUsePromptTokenCount: count,
      candidatesTokenCount: count,
      thoughtsTokenCount: count,
      totalTokenCount: count,
    })
    .default({}),
});

const refusals = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'];
const ends: Record<string, 'finished' | 'limit'> = { STOP: 'finished', MAX_TOKENS: 'limit' };

/** Previews and `-latest` names exist only in the beta version. */
const versionFor = (model: string) => (/-latest$|preview|-exp\b/.test(model) ? 'v1beta' : 'v1');

const ask: Ask = async ({ model, prompt, system, temperature, maxTokens, output, ...how }) => {
  const { GoogleGenAI } = await import('@google/genai');
  const client = new GoogleGenAI({
    apiKey: how.apiKey,
    // The default would be read from the environment.
    vertexai: false,
    apiVersion: versionFor(model.upstream),
    // Without retryOptions the SDK does not retry.
    httpOptions: {
      baseUrl: how.baseUrl ?? 'https://generativelanguage.googleapis.com',
      timeout: how.timeoutMs,
      fetch: how.fetch,
      ...(model.params && { extraBody: model.params }),
    },
  });
  const { candidates, promptFeedback, usageMetadata } = answer.parse(
    await client.models.generateContent({
      model: model.upstream,
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      config: {
        abortSignal: how.signal,
        ...(system && { systemInstruction: { parts: [{ text: system }] } }),
        ...(temperature !== undefined && { temperature }),
        ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
        ...(output && { responseMimeType: 'application/json', responseJsonSchema: output.schema }),
      },
    }),
  );
  const { promptTokenCount = 0, toolUsePromptTokenCount = 0, totalTokenCount = 0 } = usageMetadata;
  const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usageMetadata;
  const inputTokens = promptTokenCount + toolUsePromptTokenCount;
  const outputTokens = Math.max(candidatesTokenCount + thoughtsTokenCount, totalTokenCount - inputTokens);
  const { content, finishReason = '' } = candidates?.[0] ?? {};
  const text = (content?.parts ?? []).map((said) => (said.thought ? '' : (said.text ?? ''))).join('');
  if (promptFeedback?.blockReason || refusals.includes(finishReason)) {
    return { text: '', inputTokens, outputTokens, end: 'refused' };
  }
  const end = ends[finishReason];
  // Other reasons are errors of the model, such as MALFORMED_RESPONSE and OTHER.
  if (!end) throw new Error(`The response ended with the reason ${finishReason || '(none)'}.`);
  return { text, inputTokens, outputTokens, end };
};

/** Gemini, with generateContent. */
export const googleTextModel = (options: LiveOptions) => liveTextModel('GOOGLE', ask, options);
