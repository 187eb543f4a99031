import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'run.before-commit',
  'run.committed',
  'run.started',
  'run.cancelled',
  'step.called',
  'step.recorded',
  'schedule.committed',
);
