import { defineFailPoints } from '../../platform/parts/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints('action.submitting', 'action.answered');
