import type { ApiFeature } from '../../mount.ts';
import { fileRoutes } from './file.ts';

export const files: ApiFeature = {
  tags: [{ name: 'Files', description: 'Download generated files. Their addresses are signed and need no key.' }],
  ids: [],
  routes: (services) => [fileRoutes(services)],
};
