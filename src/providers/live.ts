import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import type { SettingsOf } from '../platform/env.ts';
import type { Log } from '../platform/observability/log.ts';
import { type Models, type ProviderRegistry, providerRegistry } from './registry.ts';
import { sandboxChatModel } from './sandbox/chat-model.ts';
import { sandboxTextModel } from './sandbox/text-model.ts';
import type { providerSettings } from './settings.ts';
import { anthropicModel } from './text/anthropic.ts';
import { googleModel } from './text/google.ts';
import type { LiveOptions } from './text/live-model.ts';
import { type TextProvider, textProviders, withAliases } from './text/models.ts';
import { openaiModel } from './text/openai.ts';
import { warnOfSunsets } from './text/sunsets.ts';

export type ProviderEnv = SettingsOf<typeof providerSettings.shape>;

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
