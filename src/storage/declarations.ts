import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { storageLimits } from './core/limits.ts';

export const storageDeclarations: OperatorDeclarations = {
  name: 'storage',
  limits: storageLimits,
};
