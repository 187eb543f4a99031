import type { ApiFeature } from '../../../mount.ts';
import { toolServerRoutes } from './tool-servers.ts';

export const tools: ApiFeature = {
  tags: [{ name: 'Tools', description: 'Configure the tool servers that models may use.' }],
  ids: [],
  routes: (services) => [toolServerRoutes(services)],
};
