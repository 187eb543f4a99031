import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import { listedModels, type ModelList } from './models.ts';
import type { TextModel } from './ports.ts';

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface ProviderRegistry {
  /**
   * The implementation for a model: that of the listed provider, or of `provider` for a model that is not listed.
   * @throws AppError provider_not_configured, with facts `{provider}`
   */
  textModel(environment: Environment, provider: string, model?: string): TextModel;
  /** Whether a list, ours or the operator's, has a model of this name. Others are asked for as they are named. */
  isListed(model: string): boolean;
  /** Whether models of this environment can be instant. If not, a worker need not try to execute model steps itself. */
  mayBeInstant(environment: Environment): boolean;
}

/** @param live adapters of the providers with credentials, by provider */
export function providerRegistry(
  sandbox: TextModel,
  live: ReadonlyMap<string, TextModel> = new Map(),
  models: ModelList = listedModels,
): ProviderRegistry {
  return {
    isListed: (model) => models.has(model),
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
