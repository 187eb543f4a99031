import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { customAlphabet } from 'nanoid';
import type { Environment } from '../platform/tenant.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 36;
const checksumLength = 6;
const random = customAlphabet(base62, randomLength);
const shape = /^sk_(live|test)_[0-9A-Za-z]{42}$/;

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

/** A new key, `sk_live_` or `sk_test_` + 36 random base62 characters (214 bits) + 6 of checksum. */
export function generateKey(environment: Environment): string {
  const body = `sk_${environment}_${random()}`;
  return body + checksum(body);
}

/** The environment of a well-formed key; undefined when the shape or the checksum is wrong. */
export function keyEnvironment(key: string): Environment | undefined {
  const match = shape.exec(key);
  if (!match) return undefined;
  // No secret: everybody can compute it.
  if (!key.endsWith(checksum(key.slice(0, -checksumLength)))) return undefined;
  return match[1] as Environment;
}

/** The stored hash of a key. A fast hash is sufficient for 214 random bits; a slow one would make floods expensive. */
export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/** The same as text, by which callers are cached: a buffer costs as much again as the hash. */
export const hashKeyAsText = (key: string): string => hash('sha256', key, 'base64');
