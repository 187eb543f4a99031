import type { ApiFeature } from '../../mount.ts';
import { docsRoutes } from './page.ts';

export const docs: ApiFeature = { tags: [], ids: [], routes: () => [docsRoutes()] };
