import { randomBytes, type ScryptOptions, scrypt as scryptWithCallback, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { KeyedSemaphore } from '../platform/concurrency/keyed-semaphore.ts';
import { unavailable } from '../platform/errors.ts';
import { commonPasswords } from './core/common-passwords.ts';

export const minPasswordLength = 12;
export const maxPasswordLength = 128;

/** OWASP's recommendation of 2025: 128 MiB would be one more step. */
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
const form = 's1';
const keyBytes = 32;
/**
 * Hashes that one process computes at the same time, each of which takes 32 MiB and a thread; and those that may wait. Whoever
 * tries passwords from many addresses makes others wait for few of them.
 */
const semaphore = new KeyedSemaphore(2, 20);
const everybody = 'passwords';

const scrypt = promisify(
  scryptWithCallback as (
    password: string,
    salt: Buffer,
    length: number,
    options: ScryptOptions,
    done: (error: Error | null, key: Buffer) => void,
  ) => void,
);

async function keyOf(password: string, salt: Buffer): Promise<Buffer> {
  if (!semaphore.canEnqueue(everybody)) throw unavailable('The check of passwords');
  return semaphore.run(everybody, () => scrypt(password.normalize('NFKC'), salt, keyBytes, cost));
}

/** @returns `s1:<salt>:<key>`, both in base64url @throws AppError service_unavailable while too many are computed */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${form}:${salt.toString('base64url')}:${(await keyOf(password, salt)).toString('base64url')}`;
}

/** @throws AppError service_unavailable while too many are computed */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const [version, salt = '', key = ''] = stored.split(':');
  if (version !== form) return false;
  const expected = Buffer.from(key, 'base64url');
  const given = await keyOf(password, Buffer.from(salt, 'base64url'));
  return expected.length === given.length && timingSafeEqual(expected, given);
}

const isOneCharacter = (text: string) => new Set(text).size === 1;

/** Why a password may not be chosen; undefined where it may. */
export function passwordProblem(password: string, email = ''): string | undefined {
  const { length } = [...password];
  if (length < minPasswordLength) return `Use at least ${minPasswordLength} characters.`;
  if (length > maxPasswordLength) return `Use at most ${maxPasswordLength} characters.`;
  const plain = password.toLowerCase();
  const isCommon = commonPasswords.has(plain) || isOneCharacter(plain) || plain === email.toLowerCase();
  return isCommon ? 'This is one of the commonest passwords. Choose another one.' : undefined;
}
