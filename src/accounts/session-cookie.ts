import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { challengeCookie } from './core/paths.ts';

/**
 * The key of cookie signatures, derived from the installation's signing key: a replacement of that key ends all
 * sessions.
 */
export const accountsSecret = (urlSigningKey: string): string =>
  Buffer.from(hkdfSync('sha256', urlSigningKey, '', 'atelier accounts', 32)).toString('base64url');

/** The longest cookie header that is read; a session's is a hundred characters. */
const maxCookieLength = 8_192;

/** Recognizes the session cookie in the form in which better-auth signs it. */
export class SessionCookie {
  /** Browsers accept the prefix with Secure, Path=/ and no Domain alone. */
  readonly name: '__Host-atelier' | 'atelier';
  readonly isSecure: boolean;
  readonly #secret: string | undefined;

  /** @param secret absent where the installation has no signing key: there are no sessions then */
  constructor(publicUrl: string, secret: string | undefined) {
    this.isSecure = publicUrl.startsWith('https:');
    this.name = this.isSecure ? '__Host-atelier' : 'atelier';
    this.#secret = secret;
  }

  /** The value in a Cookie header, unchecked; undefined without one. */
  valueIn(header: string | undefined): string | undefined {
    return this.valueOf(this.name, header);
  }

  /** The same of another cookie. */
  valueOf(name: string, header: string | undefined): string | undefined {
    if (header === undefined || header.length > maxCookieLength) return undefined;
    for (const pair of header.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
    }
    return undefined;
  }

  /** The sign-in that waits for a code in this browser; undefined where none does. */
  challengeIn(header: string | undefined): string | undefined {
    const value = this.valueOf(`${this.name}.${challengeCookie}`, header);
    return value === undefined ? undefined : this.tokenOf(value);
  }

  /** The token of a session, if the signature is ours. Only the database knows whether the session continues. */
  tokenOf(value: string): string | undefined {
    if (this.#secret === undefined) return undefined;
    let text: string;
    try {
      text = decodeURIComponent(value);
    } catch {
      return undefined;
    }
    const at = text.lastIndexOf('.');
    const token = text.slice(0, at);
    const given = Buffer.from(text.slice(at + 1), 'base64');
    const expected = createHmac('sha256', this.#secret).update(token).digest();
    return at > 0 && given.length === expected.length && timingSafeEqual(given, expected) ? token : undefined;
  }
}
