import type { TokenSession } from '../core/token-access.ts';
import type { SessionInUse } from '../open-sessions.ts';

/** The session of a token. Its person needs the role that creates tokens for as long as the token lives. */
export const sessionOfToken = ({ id }: TokenSession, organizationId: string): SessionInUse => ({
  sessionId: id,
  organizationId,
  required: 'member',
});
