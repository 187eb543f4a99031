import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'generation.committed',
  'generation.started',
  'generation.stored',
  'generation.recorded',
);
