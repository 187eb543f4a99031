import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import type { SettingsOf } from '../platform/env.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Environment } from '../platform/tenant.ts';
import type { TextModel } from './ports.ts';
import { sandboxChatModel } from './sandbox/chat-model.ts';
import { sandboxTextModel } from './sandbox/text-model.ts';
import type { providerSettings } from './settings.ts';
import { anthropicModel } from './text/anthropic.ts';
import type { ChatModel, Models } from './text/chat-ports.ts';
import { googleModel } from './text/google.ts';
import type { LiveOptions } from './text/live-model.ts';
import { type ModelList, type TextProvider, textProviders, withAliases } from './text/models.ts';
import { openaiModel } from './text/openai.ts';
import { warnOfSunsets } from './text/sunsets.ts';

export type ProviderEnv = SettingsOf<typeof providerSettings.shape>;

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

/** @param live adapters of the providers with credentials, by provider */
function providerRegistry(sandbox: Models, live: ReadonlyMap<string, Models>, models: ModelList): ProviderRegistry {
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

const adapters: Record<TextProvider, (options: LiveOptions) => Models> = {
  ANTHROPIC: anthropicModel,
  OPENAI: openaiModel,
  GOOGLE: googleModel,
};

/**
 * The registry, with an adapter for each provider whose API key is set.
 * @throws EnvError when MODEL_ALIASES is invalid
 */
export function openProviders(env: ProviderEnv, log: Log, work: BoundedWork): ProviderRegistry {
  const models = withAliases(env.MODEL_ALIASES);
  const live = new Map<string, Models>();
  for (const provider of Object.keys(textProviders) as TextProvider[]) {
    const apiKey = env[`${provider}_API_KEY`];
    if (apiKey === undefined) continue;
    const given = env[`${provider}_BASE_URL`];
    const baseUrl = given === undefined ? undefined : withoutSlash(given);
    live.set(provider, adapters[provider]({ apiKey, baseUrl, timeoutMs: env.MODEL_TIMEOUT_SECONDS * 1000, models }));
  }
  warnOfSunsets(models, live, log, 'MODEL_ALIASES');
  return providerRegistry({ ...sandboxTextModel(work), ...sandboxChatModel(work) }, live, models);
}
