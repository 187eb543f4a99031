import type { ApiFeature } from '../../mount.ts';
import { consoleRoutes } from './console.ts';

/** The pages of the console: files that were built from `web/`. They call the API as any client does. */
export const consolePages: ApiFeature = {
  tags: [],
  ids: [],
  routes: ({ env }) => [consoleRoutes(env.PUBLIC_URL, new URL(env.STORAGE_URL ?? env.PUBLIC_URL).origin)],
};
