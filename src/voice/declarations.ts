import { countOfTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { voiceLimits } from './core/limits.ts';
import { findableCalls } from './findable.ts';

export const voiceDeclarations: OperatorDeclarations = {
  name: 'voice',
  scopes: [{ name: 'voice', position: 70 }],
  limits: voiceLimits,
  limitUse: { openVoiceCalls: { used: countOfTenant("voice_call where status = 'processing' and") } },
  findable: [findableCalls],
};
