import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { type BoundedTask, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { type JsonSchema, ProviderFailure, type TextModel, type TextRequest } from '../ports.ts';
import type { perform } from './make-instance.ts';

/** Words in a prompt that make the sandbox fail or delay, so that integrators can test their error handling. */
const magic = {
  fail: /\bsandbox:fail\b/,
  overloaded: /\bsandbox:overloaded\b/,
  slow: /\bsandbox:slow=(\d{1,4}(?:\.\d{1,3})?)/,
};

/** The attempt at which an overloaded sandbox succeeds. */
const overloadedUntilAttempt = 3;

const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** Makes a value that a schema accepts. */
export const makeInstance: BoundedTask<Parameters<typeof perform>[0], string> = {
  module: new URL('./make-instance.ts', import.meta.url).href,
  limitMs: 1_000,
};

/** Characters of the prompt that are repeated in the strings of an instance. */
const repeatedInInstance = 16 * 1024;

async function instance(work: BoundedWork, organizationId: string, schema: JsonSchema, text: string): Promise<string> {
  try {
    return await work.run(makeInstance, organizationId, { schema, text: text.slice(0, repeatedInInstance) });
  } catch (error) {
    if (!(error instanceof WorkTooCostly)) throw error;
    const message = `The sandbox cannot generate an output for this outputSchema. ${error.message}`;
    throw new ProviderFailure('timeout', message, { retryable: false });
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

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(seconds * 1000, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** A text model without a provider. Its output contains the rendered prompt, so that callers see what a model would receive. */
export const sandboxTextModel = (work: BoundedWork): TextModel => ({
  isInstant: ({ prompt }) => !magic.slow.test(prompt) && !magic.overloaded.test(prompt),

  async generate(request, { attempt, signal, organizationId }) {
    signal.throwIfAborted();
    const slow = magic.slow.exec(request.prompt);
    if (slow) await pause(Number(slow[1]), signal);
    if (magic.fail.test(request.prompt)) {
      const message = 'The sandbox model refused the prompt (sandbox:fail).';
      throw new ProviderFailure('unavailable', message, { retryable: false });
    }
    if (magic.overloaded.test(request.prompt) && attempt < overloadedUntilAttempt) {
      throw new ProviderFailure('overloaded', 'The sandbox model is overloaded (sandbox:overloaded).');
    }
    const { outputSchema } = request;
    const words = answerInWords(request);
    const text = outputSchema ? await instance(work, organizationId, outputSchema, words) : words;
    return { text, inputTokens: countTokens((request.system ?? '') + request.prompt), outputTokens: countTokens(text) };
  },
});
