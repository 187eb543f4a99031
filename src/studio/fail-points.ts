import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'generation.committed',
  'generation.started',
  'generation.input_recorded',
  'generation.submitting',
  'generation.submitted',
  'generation.stored',
  'generation.recorded',
  'generation.cancelled',
);
