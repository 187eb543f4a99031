import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { TextModel } from './ports.ts';
import type { ChatModel } from './text/chat-ports.ts';
import { listedModels, type ModelList, type TextProvider } from './text/models.ts';

/** A text model that callers can name. */
interface TextModelEntry {
  id: string;
  provider: TextProvider;
  /** The provider's name of the model. */
  upstream: string;
  /** Null where it is not known. */
  maxOutputTokens: number | null;
  /**
   * Whether the environment can use it: the sandbox can use every model, live keys those whose provider is configured.
   */
  available: boolean;
}

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface ProviderRegistry {
  /**
   * The implementation for a model: that of the listed provider, or of `provider` for a model that is not listed.
   * @throws AppError provider_not_configured, with facts `{provider}`
   */
  textModel(environment: Environment, provider: string, model?: string): TextModel;
  /** As textModel, for conversations. */
  chatModel(environment: Environment, provider: string, model?: string): ChatModel;
  /** Whether conversations may use a model of this name: a listed one. All listed providers can call tools. */
  isChatModel(model: string): boolean;
  /**
   * Whether a list, ours or the operator's, has a model of this name. Other models are requested under the given name.
   */
  isListed(model: string): boolean;
  /** The models of our list and of the operator's, in that order. */
  listModels(environment: Environment): TextModelEntry[];
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
    listModels: (environment) =>
      [...models].map(([id, { provider, upstream, limits }]) => ({
        id,
        provider,
        upstream,
        maxOutputTokens: limits?.output ?? null,
        available: environment === 'test' || live.has(provider),
      })),
    mayBeInstant: (environment) => environment === 'test',
  };
}
