import type { Role } from './core/roles.ts';

/** A session on which a request or a token rests. */
export interface SessionInUse {
  sessionId: string;
  organizationId: string;
  /** The role that its person needs in the organization. */
  required: Role;
}

/** Whether each of the sessions continues, and its person still has the required role. */
type FindOpenSessions = (sessions: readonly SessionInUse[]) => Promise<readonly boolean[]>;

/** Finds which sessions of people continue. The part with the sessions is opened after this one. */
export class OpenSessions {
  #find: FindOpenSessions = async (sessions) => sessions.map(() => false);

  /** Called once, by the part that knows the sessions. */
  answeredBy(find: FindOpenSessions): void {
    this.#find = find;
  }

  areOpen(sessions: readonly SessionInUse[]): Promise<readonly boolean[]> {
    return this.#find(sessions);
  }
}
