import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { ChatModel } from './chat-ports.ts';
import { listedModels, type ModelList } from './models.ts';
import type { TextModel } from './ports.ts';

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface ProviderRegistry {
  /**
   * The implementation for a model: that of the listed provider, or of `provider` for a model that is not listed.
   * @throws AppError provider_not_configured, with facts `{provider}`
   */
  textModel(environment: Environment, provider: string, model?: string): TextModel;
  /** As textModel, for conversations. */
  chatModel(environment: Environment, provider: string, model?: string): ChatModel;
  /** Whether conversations may ask for a model of this name: one that is listed. All listed providers can call tools. */
  isChatModel(model: string): boolean;
  /** Whether a list, ours or the operator's, has a model of this name. Others are asked for as they are named. */
  isListed(model: string): boolean;
  /** Whether models of this environment can be instant. If not, a worker need not try to execute model steps itself. */
  mayBeInstant(environment: Environment): boolean;
}

/** A provider's models, for single prompts and for conversations. */
export type Models = TextModel & ChatModel;

/** @param live adapters of the providers with credentials, by provider */
export function providerRegistry(
  sandbox: Models,
  live: ReadonlyMap<string, Models> = new Map(),
  models: ModelList = listedModels,
): ProviderRegistry {
  function find(environment: Environment, asked: string, model: string | undefined): Models {
    if (environment === 'test') return sandbox;
    const provider = models.get(model ?? '')?.provider ?? asked;
    const found = live.get(provider);
    if (found) return found;
    throw new AppError('provider_not_configured', `The provider ${provider} is not configured.`, { provider });
  }

  return {
    textModel: find,
    chatModel: find,
    isChatModel: (model) => models.has(model),
    isListed: (model) => models.has(model),
    mayBeInstant: (environment) => environment === 'test',
  };
}
