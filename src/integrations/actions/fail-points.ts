import { defineFailPoints } from '../../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'action.committed',
  'action.started',
  'action.submitting',
  'action.answered',
  'action.recorded',
);
