import type { SessionCookie } from '../../../src/accounts/session-cookie.ts';
import type { ApiContext } from '../../context.ts';

/** A cookie of our pages besides the session's, for a step that must end in the browser in which it began. */
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

  /** The unchecked cookie of the browser; undefined without it. */
  valueIn(c: ApiContext): string | undefined {
    return this.#session.valueOf(this.#name, c.req.header('cookie'));
  }
}
