import { createHash } from 'node:crypto';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { type BoundedTask, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { isAnsweredInstantly, readSandboxWords } from '../core/sandbox-words.ts';
import type { JsonSchema, TextModel, TextRequest } from '../ports.ts';
import type { perform } from './make-instance.ts';
import { pauseAsRequested, requestedFailure } from './requested.ts';
import { streamText } from './stream-text.ts';
import { tooCostly } from './too-costly.ts';

/** As a provider might count them. */
export const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** Makes a value that a schema accepts. */
export const makeInstance: BoundedTask<Parameters<typeof perform>[0], string> = {
  module: new URL('./make-instance.ts', import.meta.url).href,
  limitMs: 1_000,
};

/**
 * A longer prompt is not answered at once: its step counts among those that call out, and its work is shared fairly.
 */
const maxInstantCharacters = 64 * 1024;

const lengthOf = ({ system = '', prompt }: TextRequest) => system.length + prompt.length;

/** Characters of the prompt that are repeated in the strings of an instance. */
const repeatedInInstance = 16 * 1024;

/** JSON that a schema accepts, with the beginning of a text in its strings. @throws ProviderFailure */
export async function instance(
  work: BoundedWork,
  tenantKey: TenantKey,
  schema: JsonSchema,
  text: string,
): Promise<string> {
  try {
    return await work.run(makeInstance, tenantKey, { schema, text: text.slice(0, repeatedInInstance) });
  } catch (error) {
    if (!(error instanceof WorkTooCostly)) throw error;
    throw tooCostly('The sandbox cannot generate an output for this outputSchema.', error);
  }
}

/** The answer depends only on the request, so equal requests have equal answers. */
function answerInWords(request: TextRequest): string {
  const { provider, model, system, prompt, temperature, maxTokens, outputSchema } = request;
  const asked = [provider, model, system ?? null, prompt, temperature ?? null, maxTokens ?? null];
  const canonical = JSON.stringify(outputSchema ? [...asked, outputSchema] : asked);
  const digest = createHash('sha256').update(canonical).digest('hex').slice(0, 12);
  return `[sandbox ${model} ${digest}] ${prompt}`;
}

/** A text model without a provider. Its output contains the rendered prompt, so that callers see what a model would receive. */
export const sandboxTextModel = (work: BoundedWork): TextModel => ({
  // A failure that leads to a retry or a fallback is recorded by an activity, as a live model's is.
  isInstant(request) {
    if (lengthOf(request) > maxInstantCharacters) return false;
    const { prompt, model } = request;
    return isAnsweredInstantly(readSandboxWords(prompt, model));
  },

  async generate(request, call) {
    const { attempt, signal, tenantKey } = call;
    signal.throwIfAborted();
    const words = readSandboxWords(request.prompt, request.model);
    await pauseAsRequested(words, call);
    const failure = requestedFailure(words, request.model, attempt);
    if (failure) throw failure;
    const { outputSchema } = request;
    const isLarge = lengthOf(request) > maxInstantCharacters;
    const answer = isLarge ? await work.inMainThread(tenantKey, () => answerInWords(request)) : answerInWords(request);
    const text = outputSchema ? await instance(work, tenantKey, outputSchema, answer) : answer;
    if (call.onDelta) await streamText(text, words.slowSeconds, call);
    return { text, inputTokens: countTokens((request.system ?? '') + request.prompt), outputTokens: countTokens(text) };
  },
});
