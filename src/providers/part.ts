import type { Foundation } from '../foundation.ts';
import { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import type { Part } from '../platform/part.ts';
import { examineImage } from './images/examination.ts';
import { openProviders } from './live.ts';
import { withMediaAliases } from './media-aliases.ts';
import { type MediaRegistry, mediaRegistry } from './media-registry.ts';
import type { ProviderRegistry } from './registry.ts';
import { renderMedia } from './sandbox/media/rendering.ts';
import { sandboxMediaModel } from './sandbox/media-model.ts';
import { makeInstance } from './sandbox/text-model.ts';
import { providerSettings } from './settings.ts';
import { tracedProviders } from './traced.ts';

export interface ProviderServices {
  providers: ProviderRegistry;
  media: MediaRegistry;
  /** Renders the sandbox's files and decodes given images, apart from other bounded work, which takes milliseconds and would wait for it. */
  renderings: BoundedWork;
}

/** The model providers, live and sandbox. */
export const providers: Part<Foundation, ProviderServices, typeof providerSettings.shape> = {
  name: 'providers',
  settings: providerSettings,
  boundedTasks: [makeInstance],
  open({ env, log, tracing, boundedWork }) {
    const registry = openProviders(env, log, boundedWork);
    const renderings = new BoundedWork({ log, tasks: [renderMedia, examineImage] });
    return {
      providers: tracing ? tracedProviders(registry, tracing) : registry,
      media: mediaRegistry(sandboxMediaModel(renderings), new Map(), withMediaAliases(env.MEDIA_ALIASES)),
      renderings,
    };
  },
  close({ renderings }) {
    renderings.close();
  },
};
