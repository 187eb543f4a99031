import { createHmac } from 'node:crypto';
import { withoutEnd } from '../../platform/core/without-end.ts';
import type { SignatureKind } from '../core/delivery-options.ts';
import {
  publicSignatureHeaders,
  type Signatures,
  type SignedAttempt,
  signatureHeaders,
  signingInputs,
} from '../core/signing.ts';
import { secretPrefix, signEd25519 } from './signing-keys.ts';

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string {
  if (key.length === 0) throw new Error('There is no secret to sign with.');
  return createHmac('sha256', key).update(text, 'utf8').digest(encoding);
}

/** The key of Standard Webhooks is the base64 content of the secret; a secret in another form is used directly. */
function standardKey(secret: string): string | Buffer {
  if (!secret.startsWith(secretPrefix)) return secret;
  const encoded = secret.slice(secretPrefix.length);
  const key = Buffer.from(encoded, 'base64');
  // The decoder skips characters that are not base64, and would make a weak key of a secret that its owner chose.
  const unpadded = (text: string) => withoutEnd(text, '=');
  return unpadded(key.toString('base64')) === unpadded(encoded) ? key : secret;
}

function signaturesOf(attempt: SignedAttempt, secret: string): Signatures {
  const { a, b, standard } = signingInputs(attempt);
  return {
    a: hmac(secret, a, 'hex'),
    b: hmac(secret, b, 'hex'),
    standard: hmac(standardKey(secret), standard, 'base64'),
  };
}

interface SigningSecrets {
  /** The brand in the header names of family A. */
  brand: string;
  /** By default HMAC. */
  kind?: SignatureKind;
  secret: string;
  /** Secrets before rotations, the newest first, while receivers may still use them. */
  earlierSecrets?: readonly string[];
}

/** The headers that identify and sign an attempt. @throws Error without a secret: no request is sent unsigned */
export function sign(
  attempt: SignedAttempt,
  { brand, kind = 'hmac', secret, earlierSecrets = [] }: SigningSecrets,
): Record<string, string> {
  if (kind === 'ed25519') {
    const { standard } = signingInputs(attempt);
    const signatures = [secret, ...earlierSecrets].map((seed) => signEd25519(seed, standard));
    return publicSignatureHeaders(attempt, brand, signatures);
  }
  const earlier = earlierSecrets.map((one) => signaturesOf(attempt, one));
  return signatureHeaders(attempt, brand, signaturesOf(attempt, secret), earlier);
}

/**
 * A body with its own signature, as integration events have it: computed over the JSON without the member `signature`,
 * which is appended last.
 * @param payload without that member
 */
export function withSignature(payload: object, secret: string): string {
  return JSON.stringify({ ...payload, signature: `sha256=${hmac(secret, JSON.stringify(payload), 'hex')}` });
}
