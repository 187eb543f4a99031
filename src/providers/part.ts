import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import { openProviders } from './live.ts';
import type { ProviderRegistry } from './registry.ts';
import { providerSettings } from './settings.ts';
import { tracedProviders } from './traced.ts';

export interface ProviderServices {
  providers: ProviderRegistry;
}

/** The AI providers, live and sandbox. */
export const providers: Part<Foundation, ProviderServices, typeof providerSettings.shape> = {
  name: 'providers',
  settings: providerSettings,
  open({ env, log, tracing }) {
    const registry = openProviders(env, log);
    return { providers: tracing ? tracedProviders(registry, tracing) : registry };
  },
};
