import type { ApiFeature } from '../../mount.ts';
import { speechRoutes } from './speech.ts';
import { transcriptionRoutes } from './transcription.ts';

export const voice: ApiFeature = {
  tags: [{ name: 'Voice', description: 'Turn text into speech, and transcribe recordings.' }],
  ids: [],
  routes: (services) => [speechRoutes(services), transcriptionRoutes(services)],
};
