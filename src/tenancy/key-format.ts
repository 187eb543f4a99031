import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { customAlphabet } from 'nanoid';
import type { Environment } from '../platform/tenant.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 36;
const checksumLength = 6;
const random = customAlphabet(base62, randomLength);

/** Keys are secret; tokens are for browsers, and die soon. */
const prefixes = { key: 'sk', token: 'pub' } as const;
type CredentialKind = keyof typeof prefixes;

const shapes = {
  key: /^sk_(live|test)_[0-9A-Za-z]{42}$/,
  token: /^pub_(live|test)_[0-9A-Za-z]{42}$/,
} as const satisfies Record<CredentialKind, RegExp>;

/**
 * Six base62 digits of the CRC-32 of the preceding text. Mistyped keys are rejected without a query, and secret scanners
 * can recognize keys (the scheme of GitHub's tokens, 2021).
 */
function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let i = 0; i < checksumLength; i++) {
    digits = base62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function generate(kind: CredentialKind, environment: Environment): string {
  const body = `${prefixes[kind]}_${environment}_${random()}`;
  return body + checksum(body);
}

/** A new key, `sk_live_` or `sk_test_` + 36 random base62 characters (214 bits) + 6 of checksum. */
export const generateKey = (environment: Environment): string => generate('key', environment);

/** A new token of a browser, `pub_live_` or `pub_test_` and then as a key. */
export const generateToken = (environment: Environment): string => generate('token', environment);

function environmentOf(kind: CredentialKind, text: string): Environment | undefined {
  const match = shapes[kind].exec(text);
  if (!match) return undefined;
  // No secret: everybody can compute it.
  if (!text.endsWith(checksum(text.slice(0, -checksumLength)))) return undefined;
  return match[1] as Environment;
}

/** The environment of a well-formed key; undefined when the shape or the checksum is wrong. */
export const keyEnvironment = (key: string): Environment | undefined => environmentOf('key', key);

/** Whether this is a well-formed token of a browser. */
export const isToken = (text: string): boolean => environmentOf('token', text) !== undefined;

/** The stored hash of a key. A fast hash is sufficient for 214 random bits; a slow one would make floods expensive. */
export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/** The same as text, by which callers are cached: a buffer costs as much again as the hash. */
export const hashKeyAsText = (key: string): string => hash('sha256', key, 'base64');
