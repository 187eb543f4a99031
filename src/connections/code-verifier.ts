import { createHash, randomBytes } from 'node:crypto';

/**
 * 43 characters of base64url: 256 bits that cannot be guessed. For a state, and for a code verifier (RFC 7636, 4.1).
 */
export const newSecret = (): string => randomBytes(32).toString('base64url');

export const secretPattern = /^[\w-]{43}$/;

/** The code challenge of a verifier, by the method S256. */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** The stored form of a state. */
export const hashOfState = (state: string): string => createHash('sha256').update(state).digest('hex');
