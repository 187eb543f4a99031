import { generationIds, videoIds } from '../../../src/studio/core/ids.ts';
import type { ApiFeature } from '../../mount.ts';
import { videoEvents } from '../../schemas/studio/videos.ts';
import { enhancePromptRoutes } from './enhance-prompt.ts';
import { generateRoutes } from './generate.ts';
import { generationRoutes } from './generations.ts';
import { providerReportRoutes } from './provider-reports.ts';
import { videoRoutes } from './videos.ts';

export const studio: ApiFeature = {
  tags: [
    {
      name: 'Studio',
      description: 'Generate images, videos and music, work on images, and read what was generated.',
    },
  ],
  ids: [generationIds, videoIds],
  events: videoEvents,
  routes: (services) => [
    generateRoutes(services),
    enhancePromptRoutes(services),
    videoRoutes(services),
    generationRoutes(services),
  ],
};

/** Where providers report on their jobs. It is for them alone, so the reference does not name it. */
export const providerReports: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [providerReportRoutes(services)],
};
