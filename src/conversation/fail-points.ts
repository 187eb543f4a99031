import { defineFailPoints } from '../platform/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints(
  'turn.asked',
  'turn.round_recorded',
  'turn.tool_begun',
  'turn.tool_called',
  'turn.tool_recorded',
);
