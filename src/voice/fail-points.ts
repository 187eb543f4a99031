import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'voice.stored',
  'voice.committed',
  'voice.started',
  'voice.submitting',
  'voice.answered',
  'voice.speech_stored',
  'voice.recorded',
);
