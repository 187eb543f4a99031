import type { Foundation } from '../foundation.ts';
import { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import type { Part } from '../platform/parts/part.ts';
import { examineImage } from './media/images/examination.ts';
import { FalReports } from './media/live/fal-reports.ts';
import { finishOutput } from './media/live/finishing.ts';
import { openLiveMedia } from './media/live/open-media.ts';
import { withMediaAliases } from './media/media-aliases.ts';
import { type MediaRegistry, mediaRegistry } from './media/media-registry.ts';
import { openProviders, type ProviderRegistry } from './registry.ts';
import { renderMedia } from './sandbox/media/rendering.ts';
import { sandboxMediaModel } from './sandbox/media-model.ts';
import { sayText } from './sandbox/speech/saying.ts';
import { makeInstance } from './sandbox/text-model.ts';
import { providerSettings } from './settings.ts';
import { examineAudio } from './speech/audio/audio-examination.ts';
import { openVoices, type VoiceRegistry } from './speech/voice-registry.ts';
import { warnOfSunsets } from './text/sunsets.ts';
import { tracedProviders } from './traced.ts';

export interface ProviderServices {
  providers: ProviderRegistry;
  media: MediaRegistry;
  voices: VoiceRegistry;
  /** Checks what fal reports. Undefined unless fal is configured. */
  falReports: FalReports | undefined;
  /**
   * Renders the sandbox's files, and decodes images and sound of callers and providers, apart from other bounded work, which takes
   * milliseconds and would wait for it.
   */
  renderings: BoundedWork;
}

/** One for the lengthy work of an organization (videos, upscales, speech), one for its pictures, and one for all others. */
const renderingProcesses = 3;

/** The model providers, live and sandbox. */
export const providers: Part<Foundation, ProviderServices, typeof providerSettings.shape> = {
  name: 'providers',
  settings: providerSettings,
  boundedTasks: [makeInstance],
  open({ env, log, tracing, egress, boundedWork }) {
    const registry = openProviders(env, log, boundedWork);
    const renderings = new BoundedWork({
      log,
      processes: renderingProcesses,
      tasks: [renderMedia.image, examineImage, finishOutput, sayText, examineAudio],
    });
    const models = withMediaAliases(env.MEDIA_ALIASES);
    const live = openLiveMedia(env, { models, egress, work: renderings });
    warnOfSunsets(models, live, log, 'MEDIA_ALIASES');
    return {
      providers: tracing ? tracedProviders(registry, tracing) : registry,
      media: mediaRegistry(sandboxMediaModel(renderings), live, models),
      voices: openVoices(env, log, renderings),
      falReports: env.FAL_KEY === undefined ? undefined : new FalReports({ keysUrl: env.FAL_JWKS_URL }),
      renderings,
    };
  },
  close({ renderings }) {
    renderings.close();
  },
};
