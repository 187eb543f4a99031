import type { SessionCookie } from '../../../src/accounts/session-cookie.ts';
import type { ApiContext } from '../../context.ts';

/** A cookie of our pages beside the session's, for a step that begins in one browser and has to end in it. */
export class PageCookie {
  readonly #session: SessionCookie;
  readonly #name: string;

  /** @param step `renewal`: the person has just opened a one-time link. `oidc`: the person is at the provider. */
  constructor(session: SessionCookie, step: 'oidc' | 'renewal') {
    this.#session = session;
    this.#name = `${session.name}.${step}`;
  }

  keep(c: ApiContext, value: string, seconds: number): void {
    const attributes = `Path=/; HttpOnly; SameSite=Lax${this.#session.isSecure ? '; Secure' : ''}`;
    c.header('Set-Cookie', `${this.#name}=${value}; Max-Age=${seconds}; ${attributes}`, { append: true });
  }

  end(c: ApiContext): void {
    this.keep(c, '', 0);
  }

  /** What the browser sends, whatever it is; undefined without the cookie. */
  valueIn(c: ApiContext): string | undefined {
    return this.#session.valueOf(this.#name, c.req.header('cookie'));
  }
}
