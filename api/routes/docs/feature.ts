import type { ApiFeature } from '../../mount.ts';
import { guideRoutes } from './guides.ts';
import { docsRoutes } from './page.ts';
import { welcomeRoutes } from './welcome.ts';

export const docs: ApiFeature = {
  tags: [],
  ids: [],
  routes: (_, build, mounts) => [welcomeRoutes(build, mounts), docsRoutes(), guideRoutes()],
};
