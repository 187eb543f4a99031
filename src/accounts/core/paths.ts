/** Where better-auth is mounted, and our pages with it. */
export const authPath = '/api/auth';
/** Where one-time links are opened. */
export const linkPath = `${authPath}/link`;
/** Where invitations are accepted. */
export const invitationPath = `${authPath}/invitations`;
export const signInPath = `${authPath}/sign-in`;
/** The page where a signed-in person sets a password. */
export const passwordPath = `${authPath}/password`;
/** Where a person sets a second factor, and where they enter its code to sign in. */
export const secondFactorPath = `${authPath}/second-factor`;
export const codePath = `${authPath}/two-factor`;
/** The endpoints of better-auth, below `authPath`, where a code of a second factor is checked. */
export const codeChecks: ReadonlySet<string> = new Set(['/two-factor/verify-totp', '/two-factor/verify-backup-code']);
/** Where a person adds and removes passkeys. */
export const passkeysPath = `${authPath}/passkeys`;
export const passkeyScriptPath = `${authPath}/passkeys.js`;
/** Where a person goes to sign in at the OpenID provider, and where it sends them back. */
export const oidcPath = `${authPath}/oidc`;
export const oidcCallbackPath = `${oidcPath}/callback`;
/** The name that better-auth gives the cookie of a sign-in which waits for a code, after the prefix of all. */
export const challengeCookie = 'two_factor';
/** The same of a device on which better-auth would ask for no code. */
export const trustedDeviceCookie = 'trust_device';
/** The header in which our pages pass the client's address to better-auth; whatever a client sends there is replaced. */
export const addressHeader = 'x-atelier-client-address';
/** Where people land who have signed in. */
export const consolePath = '/app';
