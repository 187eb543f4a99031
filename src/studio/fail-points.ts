import { defineFailPoints } from '../platform/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints(
  'generation.input_recorded',
  'generation.submitting',
  'generation.submitted',
  'generation.stored',
  'generation.cancelled',
);
