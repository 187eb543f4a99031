import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'turn.committed',
  'turn.started',
  'turn.asked',
  'turn.round_recorded',
  'turn.tool_begun',
  'turn.tool_called',
  'turn.tool_recorded',
  'turn.recorded',
);
