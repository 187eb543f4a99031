/** Where better-auth is mounted, and our pages with it. */
export const authPath = '/api/auth';
/** Where one-time links are opened. */
export const linkPath = `${authPath}/link`;
/** Where invitations are accepted. */
export const invitationPath = `${authPath}/invitations`;
export const signInPath = `${authPath}/sign-in`;
/** Where who is signed in sets a password. */
export const passwordPath = `${authPath}/password`;
/** Where our pages tell better-auth the client's address; whatever a client sends there is replaced. */
export const addressHeader = 'x-atelier-client-address';
/** Where people land who have signed in. */
export const consolePath = '/app';
