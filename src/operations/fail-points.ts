import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints(
  'organization.purging',
  'organization.ended',
  'organization.files_removed',
  'organization.rows_removed',
  'organization.emptied',
);
