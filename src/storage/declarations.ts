import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { storageLimits } from './core/limits.ts';
import { storedBytesSql } from './storage-limit.ts';

export const storageDeclarations: OperatorDeclarations = {
  name: 'storage',
  limits: storageLimits,
  limitUse: { storageBytes: { used: storedBytesSql } },
};
