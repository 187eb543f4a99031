import type { Tracing } from '../platform/observability/telemetry.ts';
import type { Call, TextAnswer, TextModel } from './ports.ts';
import type { ProviderRegistry } from './registry.ts';
import type { ChatModel } from './text/chat-ports.ts';

interface Named {
  provider: string;
  model: string;
}

/** Prompts and answers are tenants' data and are not traced. */
function inSpan<T extends TextAnswer>(
  tracing: Tracing,
  { provider, model }: Named,
  { attempt }: Call,
  ask: () => Promise<T>,
): Promise<T> {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider.toLowerCase(),
    'gen_ai.request.model': model,
    'atelier.attempt': attempt,
  };
  return tracing.inSpan('chat', { kind: 'client', attributes }, async (span) => {
    const answer = await ask();
    span.set({
      'gen_ai.usage.input_tokens': answer.inputTokens,
      'gen_ai.usage.output_tokens': answer.outputTokens,
      ...(answer.served && {
        'gen_ai.provider.name': answer.served.provider.toLowerCase(),
        'gen_ai.response.model': answer.served.model,
      }),
    });
    return answer;
  });
}

const tracedTextModel = (model: TextModel, tracing: Tracing): TextModel => ({
  isInstant: (request) => model.isInstant(request),
  generate: (request, call) => inSpan(tracing, request, call, () => model.generate(request, call)),
});

const tracedChatModel = (model: ChatModel, tracing: Tracing): ChatModel => ({
  reply: (request, call) => inSpan(tracing, request, call, () => model.reply(request, call)),
});

/** Records a span per model call, with provider, model, tokens and class of failure. */
export const tracedProviders = (registry: ProviderRegistry, tracing: Tracing): ProviderRegistry => ({
  ...registry,
  textModel: (...asked) => tracedTextModel(registry.textModel(...asked), tracing),
  chatModel: (...asked) => tracedChatModel(registry.chatModel(...asked), tracing),
});
