import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'run.before-commit',
  'run.committed',
  'run.started',
  'run.cancelled',
  'concurrency.before-commit',
  'run.released',
  'step.sending',
  'step.called',
  'step.recorded',
  'step.round_recorded',
  'step.tool_begun',
  'step.tool_called',
  'step.tool_recorded',
  'schedule.committed',
  'event.received',
  'event.matched',
  'event.decided',
  'event.started',
);
