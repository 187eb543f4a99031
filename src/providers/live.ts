import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import type { SettingsOf } from '../platform/env.ts';
import type { Log } from '../platform/log.ts';
import { anthropicTextModel } from './anthropic.ts';
import { googleTextModel } from './google.ts';
import type { LiveOptions } from './live-text-model.ts';
import { type TextProvider, textProviders, withAliases } from './models.ts';
import { openaiTextModel } from './openai.ts';
import type { TextModel } from './ports.ts';
import { type ProviderRegistry, providerRegistry } from './registry.ts';
import { sandboxTextModel } from './sandbox/text-model.ts';
import type { providerSettings } from './settings.ts';
import { warnOfSunsets } from './sunsets.ts';

export type ProviderEnv = SettingsOf<typeof providerSettings.shape>;

const adapters: Record<TextProvider, (options: LiveOptions) => TextModel> = {
  ANTHROPIC: anthropicTextModel,
  OPENAI: openaiTextModel,
  GOOGLE: googleTextModel,
};

/**
 * The registry, with an adapter for each provider whose API key is set.
 * @throws EnvError when MODEL_ALIASES is invalid
 */
export function openProviders(env: ProviderEnv, log: Log, work: BoundedWork): ProviderRegistry {
  const models = withAliases(env.MODEL_ALIASES);
  const live = new Map<string, TextModel>();
  for (const provider of Object.keys(textProviders) as TextProvider[]) {
    const apiKey = env[`${provider}_API_KEY`];
    if (apiKey === undefined) continue;
    const baseUrl = env[`${provider}_BASE_URL`]?.replace(/\/+$/, '');
    live.set(provider, adapters[provider]({ apiKey, baseUrl, timeoutMs: env.MODEL_TIMEOUT_SECONDS * 1000, models }));
  }
  warnOfSunsets(models, live, log, 'MODEL_ALIASES');
  return providerRegistry(sandboxTextModel(work), live, models);
}
