import { defineFailPoints } from '../platform/parts/fail-points.ts';

/** Besides those of every job. */
export const failPoint = defineFailPoints('voice.stored', 'voice.submitting', 'voice.answered', 'voice.speech_stored');
