// What other parts use of connections: grants of accounts by OAuth, and how their use fails.

export type { Tokens } from './authority.ts';
export type { Connections } from './connections.ts';
export { AccessTokenRefused, AuthExpired, AuthorizationFailure, ConnectionMissing } from './failures.ts';
export type { Grant } from './grants.ts';
export type { ConnectionServices } from './part.ts';
export type { OAuthProvider } from './providers.ts';
export type { Asked } from './states.ts';
