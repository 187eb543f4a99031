import type { ApiFeature } from '../../mount.ts';
import { approvalPageRoutes } from './approval-pages.ts';

/** Pages for approvers, who have no key. */
export const approvalPages: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [approvalPageRoutes(services)],
};
