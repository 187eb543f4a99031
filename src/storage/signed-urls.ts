import { createHmac, timingSafeEqual } from 'node:crypto';
import { clock } from '../platform/clock.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import { AppError } from '../platform/errors.ts';
import { fileNamePattern } from './core/file-types.ts';

interface SignedUrlOptions {
  /** URL_SIGNING_KEY. Without a key no address is created or accepted. */
  key: string | undefined;
  /** Where `/files/…` is reached from outside. */
  baseUrl: string;
  /** How long an address holds. */
  seconds: number;
}

/** The parts of a signed address, unchecked. */
export interface Signed {
  name: string;
  expires: string | undefined;
  signature: string | undefined;
}

/**
 * Addresses of files: `{base}/files/<name>?expires=<Unix seconds>&signature=<base64url HMAC-SHA256 of "<name>\n<expires>">`.
 * Its holder may read the file until it expires.
 */
export class SignedUrls {
  readonly #options: SignedUrlOptions;
  readonly #base: URL;

  constructor(options: SignedUrlOptions) {
    this.#options = options;
    this.#base = new URL(`${withoutSlash(options.baseUrl)}/files/`);
  }

  /** For callers who will need an address later. @throws AppError service_unavailable where no URL_SIGNING_KEY is set */
  requireKey(): string {
    const { key } = this.#options;
    if (key !== undefined) return key;
    throw new AppError(
      'service_unavailable',
      'This installation is not configured to sign URLs of files. Its operator can change that.',
    );
  }

  /** @throws AppError service_unavailable where no URL_SIGNING_KEY is set */
  sign(name: string, now = clock.date()): string {
    const { seconds } = this.#options;
    const key = this.requireKey();
    const expires = String(Math.floor(now.getTime() / 1000) + seconds);
    return `${this.#base.href}${name}?expires=${expires}&signature=${signatureOf(key, name, expires)}`;
  }

  /**
   * Checks a signature in constant time.
   * @returns the seconds that the address still holds; undefined where it is missing, changed or ended
   */
  verify({ name, expires, signature }: Signed, now = clock.date()): number | undefined {
    const { key } = this.#options;
    if (key === undefined || expires === undefined || signature === undefined) return undefined;
    const [given, expected] = [Buffer.from(signature), Buffer.from(signatureOf(key, name, expires))];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const left = Number(expires) - now.getTime() / 1000;
    // Only a name and a time are signed: any other value was never signed.
    return left > 0 && fileNamePattern.test(name) ? Math.ceil(left) : undefined;
  }

  /**
   * Reads an address that a caller gave.
   * @returns `elsewhere` where it is none of ours; `refused` where it is, and its signature is missing, changed or ended
   */
  read(text: string, now = clock.date()): { name: string } | 'elsewhere' | 'refused' {
    const url = URL.parse(text);
    if (!url || url.origin !== this.#base.origin || !url.pathname.startsWith(this.#base.pathname)) return 'elsewhere';
    const name = url.pathname.slice(this.#base.pathname.length);
    const [expires, signature] = [only(url, 'expires'), only(url, 'signature')];
    return this.verify({ name, expires, signature }, now) === undefined ? 'refused' : { name };
  }
}

const signatureOf = (key: string, name: string, expires: string) =>
  createHmac('sha256', key).update(`${name}\n${expires}`).digest('base64url');

/** The value of a parameter that is given once. */
function only({ searchParams }: URL, name: string): string | undefined {
  const values = searchParams.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}
