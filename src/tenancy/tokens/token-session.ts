import type { TokenSession } from '../core/token-access.ts';
import type { SessionInUse } from '../open-sessions.ts';

/** The session of a token, whose person needs the role that makes tokens as long as the token lives. */
export const sessionOfToken = ({ id }: TokenSession, organizationId: string): SessionInUse => ({
  sessionId: id,
  organizationId,
  required: 'member',
});
