import { createHmac, timingSafeEqual } from 'node:crypto';
import { clock } from '../platform/clock.ts';
import { ownPath } from './core/next-path.ts';
import { consolePath } from './core/paths.ts';
import { randomToken, tokenPattern } from './tokens.ts';

/** The state that a browser holds while its person is at the provider. */
interface OidcState {
  state: string;
  /** Where the person goes afterwards. */
  next: string;
}

/**
 * States of sign-ins at a provider. They are only in a cookie of the browser that began the sign-in: a person who only
 * follows a link begins nothing that another browser could end, and beginning costs no row.
 */
export class OidcStates {
  readonly #secret: string;
  readonly #lifeMs: number;

  constructor(secret: string, lifeMs: number) {
    this.#secret = secret;
    this.#lifeMs = lifeMs;
  }

  get lifeSeconds(): number {
    return Math.max(1, Math.ceil(this.#lifeMs / 1000));
  }

  /** @returns the state, and the value of its cookie */
  begin(next: string): { state: string; cookie: string } {
    const state = randomToken();
    const content = `${state}.${clock.now() + this.#lifeMs}.${Buffer.from(next).toString('base64url')}`;
    return { state, cookie: `${content}.${this.#sign('cookie', content)}` };
  }

  /** @returns undefined for a cookie that is not ours, or too old */
  read(cookie: string | undefined): OidcState | undefined {
    const at = cookie?.lastIndexOf('.') ?? -1;
    if (cookie === undefined || at < 0) return undefined;
    const content = cookie.slice(0, at);
    const given = Buffer.from(cookie.slice(at + 1));
    const expected = Buffer.from(this.#sign('cookie', content));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const [state = '', endsAt, next = ''] = content.split('.');
    if (!tokenPattern.test(state) || Number(endsAt) < clock.now()) return undefined;
    return { state, next: ownPath(Buffer.from(next, 'base64url').toString()) ?? consolePath };
  }

  /** The value that the provider writes into its token for this sign-in alone. */
  nonceOf(state: string): string {
    return this.#sign('nonce', state);
  }

  /** The code verifier (RFC 7636). */
  verifierOf(state: string): string {
    return this.#sign('verifier', state);
  }

  #sign(purpose: string, text: string): string {
    return createHmac('sha256', this.#secret).update(`oidc ${purpose} ${text}`).digest('base64url');
  }
}
