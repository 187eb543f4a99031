import { defineFailPoints } from '../platform/parts/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints(
  'generation.input_recorded',
  'generation.submitting',
  'generation.submitted',
  'generation.stored',
  'generation.cancelled',
);
