import { defineFailPoints } from '../../platform/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints('action.submitting', 'action.answered');
