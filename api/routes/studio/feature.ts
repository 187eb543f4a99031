import { generationIds, videoIds } from '../../../src/studio/core/ids.ts';
import type { ApiFeature } from '../../mount.ts';
import { generateRoutes } from './generate.ts';
import { generationRoutes } from './generations.ts';

export const studio: ApiFeature = {
  tags: [{ name: 'Studio', description: 'Generate images and music, and read what was generated.' }],
  ids: [generationIds, videoIds],
  routes: (services) => [generateRoutes(services), generationRoutes(services)],
};
