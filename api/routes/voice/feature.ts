import type { ApiFeature } from '../../mount.ts';
import { speechRoutes } from './speech.ts';
import { transcriptionRoutes } from './transcription.ts';

export const voice: ApiFeature = {
  tags: [{ name: 'Voice', description: 'Have a text spoken, and a recording written down.' }],
  ids: [],
  routes: (services) => [speechRoutes(services), transcriptionRoutes(services)],
};
