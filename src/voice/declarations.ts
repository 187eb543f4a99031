import type { OperatorDeclarations } from '../platform/part.ts';
import { voiceLimits } from './core/limits.ts';
import { findableCalls } from './findable.ts';

export const voiceDeclarations: OperatorDeclarations = {
  name: 'voice',
  limits: voiceLimits,
  findable: [findableCalls],
};
