import { defineFailPoints } from '../platform/parts/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints(
  'message.asked',
  'message.round_recorded',
  'message.tool_begun',
  'message.tool_called',
  'message.tool_recorded',
);
