import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { identityIds, invitationIds, memberIds } from './core/ids.ts';

export const accountDeclarations: OperatorDeclarations = {
  name: 'accounts',
  auditActions: {
    'member.create': memberIds,
    'member.update': memberIds,
    'member.delete': memberIds,
    'invitation.create': invitationIds,
    'invitation.revoke': invitationIds,
    'identity.delete': identityIds,
  },
};
