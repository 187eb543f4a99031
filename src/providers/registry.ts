import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { TextModel } from './ports.ts';
import { sandboxTextModel } from './sandbox/text-model.ts';

/** Chooses implementations by the environment of the work, here and nowhere else. */
export interface ProviderRegistry {
  /** @throws AppError provider_not_configured, with facts `{provider}` */
  textModel(environment: Environment, provider: string): TextModel;
}

/** `live` has an entry for each provider that the operator gave credentials for. */
export function providerRegistry(live: ReadonlyMap<string, TextModel> = new Map()): ProviderRegistry {
  return {
    textModel(environment, provider) {
      const model = environment === 'test' ? sandboxTextModel : live.get(provider);
      if (model) return model;
      throw new AppError('provider_not_configured', `The provider ${provider} is not configured.`, { provider });
    },
  };
}
