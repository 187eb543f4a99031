import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import { openProviders } from './live.ts';
import type { ProviderRegistry } from './registry.ts';
import { makeInstance } from './sandbox/text-model.ts';
import { providerSettings } from './settings.ts';
import { tracedProviders } from './traced.ts';

export interface ProviderServices {
  providers: ProviderRegistry;
}

/** The model providers, live and sandbox. */
export const providers: Part<Foundation, ProviderServices, typeof providerSettings.shape> = {
  name: 'providers',
  settings: providerSettings,
  boundedTasks: [makeInstance],
  open({ env, log, tracing, boundedWork }) {
    const registry = openProviders(env, log, boundedWork);
    return { providers: tracing ? tracedProviders(registry, tracing) : registry };
  },
};
