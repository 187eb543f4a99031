import { createHmac, randomBytes } from 'node:crypto';
import { type Signatures, type SignedAttempt, signatureHeaders, signingInputs } from './core/signing.ts';

const secretPrefix = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => secretPrefix + randomBytes(32).toString('base64');

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string {
  if (key.length === 0) throw new Error('There is no secret to sign with.');
  return createHmac('sha256', key).update(text, 'utf8').digest(encoding);
}

/** Standard Webhooks keys with what the secret encodes; a secret that the customer chose is its own bytes. */
const standardKey = (secret: string): string | Buffer =>
  secret.startsWith(secretPrefix) ? Buffer.from(secret.slice(secretPrefix.length), 'base64') : secret;

function signaturesOf(attempt: SignedAttempt, secret: string): Signatures {
  const { a, b, standard } = signingInputs(attempt);
  return {
    a: hmac(secret, a, 'hex'),
    b: hmac(secret, b, 'hex'),
    standard: hmac(standardKey(secret), standard, 'base64'),
  };
}

export interface SigningSecrets {
  /** The word in the names of family A. */
  brand: string;
  secret: string;
  /** The one before a rotation, while receivers may still know only that. */
  previousSecret?: string | undefined;
}

/** The headers that identify and sign an attempt. Throws when there is no secret: nothing is sent unsigned. */
export function sign(
  attempt: SignedAttempt,
  { brand, secret, previousSecret }: SigningSecrets,
): Record<string, string> {
  const previous = previousSecret === undefined ? undefined : signaturesOf(attempt, previousSecret);
  return signatureHeaders(attempt, brand, signaturesOf(attempt, secret), previous);
}

/**
 * A body that carries its own signature, as integration events do: over the JSON without the member `signature`, which
 * stands last.
 * @param payload without that member
 */
export function withSignature(payload: object, secret: string): string {
  return JSON.stringify({ ...payload, signature: `sha256=${hmac(secret, JSON.stringify(payload), 'hex')}` });
}
