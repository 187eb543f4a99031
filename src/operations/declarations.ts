import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { keyExpiring } from './core/events.ts';
import { findableOutbox } from './findable.ts';

export const operationsDeclarations: OperatorDeclarations = {
  name: 'operations',
  events: [keyExpiring],
  findable: [findableOutbox],
};
