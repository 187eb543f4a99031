import type { ApiFeature } from '../../mount.ts';
import { fileRoutes } from './file.ts';

export const files: ApiFeature = {
  tags: [{ name: 'Files', description: 'What the product made, at addresses that are signed and need no key.' }],
  ids: [],
  routes: (services) => [fileRoutes(services)],
};
