import type { Tracing } from '../platform/telemetry.ts';
import type { TextModel } from './ports.ts';
import type { ProviderRegistry } from './registry.ts';

function tracedTextModel(model: TextModel, tracing: Tracing): TextModel {
  return {
    ...model,
    generate(request, call) {
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': request.provider.toLowerCase(),
        'gen_ai.request.model': request.model,
        'atelier.attempt': call.attempt,
      };
      // Prompts and answers are tenants' data and are not traced.
      return tracing.inSpan('chat', { kind: 'client', attributes }, async (span) => {
        const answer = await model.generate(request, call);
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
    },
  };
}

/** Records a span per model call, with provider, model, tokens and class of failure. */
export const tracedProviders = (registry: ProviderRegistry, tracing: Tracing): ProviderRegistry => ({
  ...registry,
  textModel: (environment, provider, model) =>
    tracedTextModel(registry.textModel(environment, provider, model), tracing),
});
