import { countOfTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { conversationLimits } from './core/limits.ts';
import { findableMessages } from './findable.ts';

export const conversationDeclarations: OperatorDeclarations = {
  name: 'conversation',
  scopes: [{ name: 'chat', position: 60 }],
  limits: conversationLimits,
  limitUse: { openMessages: { used: countOfTenant("conversation_message where status = 'processing' and") } },
  findable: [findableMessages],
};
