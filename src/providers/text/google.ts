import type { Content, GenerateContentParameters } from '@google/genai';
import { z } from 'zod';
import { shallowArgs } from './chat-answers.ts';
import type { ChatMessage, ToolCall } from './chat-ports.ts';
import { type Ask, type LiveOptions, liveModel, type Question, type Reply } from './live-model.ts';
import { argumentsSchema } from './tool-declarations.ts';

const count = z.int().min(0).optional();
const functionCall = z.looseObject({
  id: z.string().optional(),
  name: z.string(),
  args: z.record(z.string(), z.unknown()).optional(),
});
// Fields that are not named here are kept, as signatures must be.
const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: functionCall.optional(),
});
type SaidPart = z.infer<typeof part>;
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
    .optional(),
});
type Usage = NonNullable<z.infer<typeof answer>['usageMetadata']>;

const refusals = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'];
const ends: Record<string, 'finished' | 'limit'> = { STOP: 'finished', MAX_TOKENS: 'limit' };

/** Previews and `-latest` names exist only in the beta version, and tools are documented for it. */
const versionFor = (model: string, hasTools: boolean) =>
  hasTools || /-latest$|preview|-exp\b/.test(model) ? 'v1beta' : 'v1';

const partsOf = (content: unknown): SaidPart[] => z.object({ parts: z.array(part) }).parse(content).parts;
/** Ids of the calls of an answer. Not every model gives ids, and an id that the model did not give is not accepted. */
const givenIds = (content: unknown) => new Set(partsOf(content).map(({ functionCall }) => functionCall?.id));

/** @param before the message in front of it */
function contentOf(message: ChatMessage, before: ChatMessage | undefined): Content {
  if (message.role === 'model') return message.content as Content;
  if (message.role !== 'tools')
    return { role: message.role === 'user' ? 'user' : 'model', parts: [{ text: message.text }] };
  const ids = before?.role === 'model' ? givenIds(before.content) : new Set();
  const parts = message.results.map(({ callId, name, text, isError }) => ({
    functionResponse: {
      ...(ids.has(callId) && { id: callId }),
      name,
      response: isError ? { error: text } : { output: text },
    },
  }));
  return { role: 'user', parts };
}

function parametersOf(question: Question): GenerateContentParameters {
  const { messages, model, system, temperature, maxTokens, output, tools, mayCall, signal } = question;
  const functionDeclarations = tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parametersJsonSchema: argumentsSchema(tool),
  }));
  return {
    model: model.upstream,
    contents: messages.map((message, index) => contentOf(message, messages[index - 1])),
    config: {
      abortSignal: signal,
      ...(system && { systemInstruction: { parts: [{ text: system }] } }),
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(output && { responseMimeType: 'application/json', responseJsonSchema: output.schema }),
      ...(tools.length > 0 && { tools: [{ functionDeclarations }] }),
      ...(tools.length > 0 && !mayCall && { toolConfig: { functionCallingConfig: { mode: 'NONE' as never } } }),
    },
  };
}

const isPlain = (said: SaidPart): said is SaidPart & { text: string } =>
  said.text !== undefined && Object.keys(said).every((key) => key === 'text' || key === 'thought');

/**
 * Adds the next part of a stream. Plain texts are joined; a part with other members, such as a signature, stays
 * unchanged.
 */
function addPart(parts: SaidPart[], said: SaidPart): void {
  const last = parts.at(-1);
  if (last && isPlain(last) && isPlain(said) && last.thought === said.thought) last.text += said.text;
  else parts.push(said);
}

function callOf({ functionCall }: SaidPart, index: number): ToolCall[] {
  if (!functionCall) return [];
  const { id, name, args = {} } = functionCall;
  return [{ id: id || `call_${index}`, name, ...shallowArgs(args) }];
}

/** A part as it is sent back: without arguments that cannot be. */
function keptPart(said: SaidPart): SaidPart {
  const args = said.functionCall?.args;
  if (!args || shallowArgs(args).args === args) return said;
  return { ...said, functionCall: { ...said.functionCall!, args: {} } };
}

/** @param usage of the last chunk, which counts the whole answer */
function tokensOf(usage: Usage): Pick<Reply, 'inputTokens' | 'outputTokens'> {
  const { promptTokenCount = 0, toolUsePromptTokenCount = 0, totalTokenCount = 0 } = usage;
  const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  const inputTokens = promptTokenCount + toolUsePromptTokenCount;
  return {
    inputTokens,
    outputTokens: Math.max(candidatesTokenCount + thoughtsTokenCount, totalTokenCount - inputTokens),
  };
}

const ask: Ask = async (question) => {
  const { model, onText, ...how } = question;
  const { GoogleGenAI } = await import('@google/genai');
  const client = new GoogleGenAI({
    apiKey: how.apiKey,
    // The default would be read from the environment.
    vertexai: false,
    apiVersion: versionFor(model.upstream, question.tools.length > 0),
    // Without retryOptions the SDK does not retry.
    httpOptions: {
      baseUrl: how.baseUrl ?? 'https://generativelanguage.googleapis.com',
      timeout: how.timeoutMs,
      fetch: how.fetch,
      ...(model.params && { extraBody: model.params }),
    },
  });
  const asked = parametersOf(question);
  const chunks = onText
    ? await client.models.generateContentStream(asked)
    : [await client.models.generateContent(asked)];
  const parts: SaidPart[] = [];
  let usage: Usage = {};
  let reason = '';
  let isRefused = false;
  for await (const chunk of chunks) {
    const { candidates, promptFeedback, usageMetadata } = answer.parse(chunk);
    usage = usageMetadata ?? usage;
    const { content, finishReason } = candidates?.[0] ?? {};
    reason = finishReason ?? reason;
    isRefused ||= Boolean(promptFeedback?.blockReason) || refusals.includes(reason);
    for (const said of content?.parts ?? []) {
      addPart(parts, said);
      if (!said.thought) onText?.(said.text ?? '');
    }
  }
  const content = { role: 'model', parts: parts.map(keptPart) };
  if (isRefused) return { text: '', calls: [], content, ...tokensOf(usage), end: 'refused' };
  const end = ends[reason];
  // Other reasons are errors of the model, such as MALFORMED_FUNCTION_CALL and OTHER.
  if (!end) throw new Error(`The response ended with the reason ${reason || '(none)'}.`);
  const text = parts.map((said) => (said.thought ? '' : (said.text ?? ''))).join('');
  return { text, calls: parts.flatMap(callOf), content, ...tokensOf(usage), end };
};

/** Gemini, with generateContent and streamGenerateContent. */
export const googleModel = (options: LiveOptions) => liveModel('GOOGLE', ask, options);
