import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderFailure, type TextModel, type TextRequest } from '../ports.ts';
import { instanceOf } from './instance.ts';

/** Words in a prompt that make the sandbox behave badly, so that integrators can test their own handling. */
const magic = {
  fail: /\bsandbox:fail\b/,
  overloaded: /\bsandbox:overloaded\b/,
  slow: /\bsandbox:slow=(\d{1,4}(?:\.\d{1,3})?)/,
};

/** The attempt at which an overloaded sandbox gives in. */
const overloadedUntilAttempt = 3;

const countTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** Depends on the whole request and on nothing else: the same question has the same answer for ever. */
function answer(request: TextRequest): string {
  const { provider, model, system, prompt, temperature, maxTokens, outputSchema } = request;
  const asked = [provider, model, system ?? null, prompt, temperature ?? null, maxTokens ?? null];
  const canonical = JSON.stringify(outputSchema ? [...asked, outputSchema] : asked);
  const digest = createHash('sha256').update(canonical).digest('hex').slice(0, 12);
  const text = `[sandbox ${model} ${digest}] ${prompt}`;
  return outputSchema ? JSON.stringify(instanceOf(outputSchema, text)) : text;
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(seconds * 1000, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Answers without any provider. The text contains the rendered prompt, so that a caller sees what a model would see. */
export const sandboxTextModel: TextModel = {
  isInstant: ({ prompt }) => !magic.slow.test(prompt) && !magic.overloaded.test(prompt),

  async generate(request, { attempt, signal }) {
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
    const text = answer(request);
    return { text, inputTokens: countTokens((request.system ?? '') + request.prompt), outputTokens: countTokens(text) };
  },
};
