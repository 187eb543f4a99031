import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import { listedModels, type ModelList } from './models.ts';
import type { TextModel } from './ports.ts';

/** Chooses implementations by the environment of the work, here and nowhere else. */
export interface ProviderRegistry {
  /**
   * Who answers for a model: the provider that the list of models names for it, and `provider` for any other name.
   * @throws AppError provider_not_configured, with facts `{provider}`
   */
  textModel(environment: Environment, provider: string, model?: string): TextModel;
  /** Whether any model of this environment answers at once: a step that asks none of them need not be tried first. */
  mayBeInstant(environment: Environment): boolean;
}

/** `live` has an entry for each provider that the operator gave credentials for. */
export function providerRegistry(
  sandbox: TextModel,
  live: ReadonlyMap<string, TextModel> = new Map(),
  models: ModelList = listedModels,
): ProviderRegistry {
  return {
    mayBeInstant: (environment) => environment === 'test',
    textModel(environment, asked, model) {
      if (environment === 'test') return sandbox;
      const provider = models.get(model ?? '')?.provider ?? asked;
      const found = live.get(provider);
      if (found) return found;
      throw new AppError('provider_not_configured', `The provider ${provider} is not configured.`, { provider });
    },
  };
}
