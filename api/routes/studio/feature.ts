import { generationIds, videoIds } from '../../../src/studio/core/ids.ts';
import type { ApiFeature } from '../../mount.ts';
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
  overview: { title: 'Studio', text: 'Images, videos and music' },
  example: {
    title: 'Studio',
    text: 'Generate an image, and start a video, whose state you read until it has ended.',
    commands: ({ get, send }) => [
      send(
        '/api/studio/generate',
        '{"prompt": "A lighthouse at dusk", "aspectRatio": "16:9"}',
        " -H 'Idempotency-Key: lighthouse-1'",
      ),
      send('/api/studio/generate-video', '{"prompt": "Waves at a lighthouse", "duration": 5}'),
      get('/api/studio/generate-video?id=VIDEO_ID'),
    ],
  },
  ids: [generationIds, videoIds],
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
