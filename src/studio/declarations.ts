import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { videoCompleted, videoFailed } from './core/events.ts';
import { generationIds } from './core/ids.ts';
import { findableGenerations } from './findable.ts';

export const studioDeclarations: OperatorDeclarations = {
  name: 'studio',
  scopes: [{ name: 'studio', position: 50 }],
  events: [videoCompleted, videoFailed],
  auditActions: { 'generation.delete': generationIds },
  findable: [findableGenerations],
};
