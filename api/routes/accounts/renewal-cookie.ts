import type { SessionCookie } from '../../../src/accounts/session-cookie.ts';
import type { ApiContext } from '../../context.ts';

// A browser keeps the proof that its person has just opened a link apart from the session: that begins later where a code is
// asked for, and goes on for much longer.

const nameOf = (cookie: SessionCookie) => `${cookie.name}.renewal`;

function setCookie(c: ApiContext, cookie: SessionCookie, value: string, seconds: number): void {
  const attributes = `Path=/; HttpOnly; SameSite=Lax${cookie.isSecure ? '; Secure' : ''}`;
  c.header('Set-Cookie', `${nameOf(cookie)}=${value}; Max-Age=${seconds}; ${attributes}`, { append: true });
}

export const keepRenewal = (c: ApiContext, cookie: SessionCookie, token: string, ms: number): void =>
  setCookie(c, cookie, token, Math.max(1, Math.ceil(ms / 1000)));

export const endRenewal = (c: ApiContext, cookie: SessionCookie): void => setCookie(c, cookie, '', 0);

/** The token that the browser sends, whatever it is. */
export const renewalIn = (c: ApiContext, cookie: SessionCookie): string | undefined =>
  cookie.valueOf(nameOf(cookie), c.req.header('cookie'));
