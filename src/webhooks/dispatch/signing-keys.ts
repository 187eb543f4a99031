import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { SignatureKind } from '../core/delivery-options.ts';

export const secretPrefix = 'whsec_';
/** Before the seed of a private key, as Standard Webhooks has it. */
const seedPrefix = 'whsk_';
const publicPrefix = 'whpk_';

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => secretPrefix + randomBytes(32).toString('base64');

/** The prefix of the 32 bytes of a seed in the DER of its private key (RFC 8410). */
const derOfSeed = Buffer.from('302e020100300506032b657004220420', 'hex');

function privateKeyOf(seed: string): KeyObject {
  const bytes = Buffer.from(seed.startsWith(seedPrefix) ? seed.slice(seedPrefix.length) : '', 'base64');
  if (bytes.length !== 32) throw new Error('There is no private key to sign with.');
  return createPrivateKey({ key: Buffer.concat([derOfSeed, bytes]), format: 'der', type: 'pkcs8' });
}

/** `whpk_` and the 32 bytes of the public key in base64. @param seed of `newKeys` */
function publicKeyOf(seed: string): string {
  const { x } = createPublicKey(privateKeyOf(seed)).export({ format: 'jwk' });
  return publicPrefix + Buffer.from(x!, 'base64url').toString('base64');
}

/** @param seed of `newKeys` @returns the signature in base64 @throws Error without a seed */
export const signEd25519 = (seed: string, text: string): string =>
  sign(null, Buffer.from(text, 'utf8'), privateKeyOf(seed)).toString('base64');

/** The keys of a webhook. */
export interface SigningKeys {
  /** The sealed value: a secret, or the seed of a private key as `whsk_…`. */
  secret: string;
  /** Null where both sides have the secret. */
  publicKey: string | null;
}

export function newKeys(kind: SignatureKind): SigningKeys {
  if (kind === 'hmac') return { secret: newSecret(), publicKey: null };
  const secret = seedPrefix + randomBytes(32).toString('base64');
  return { secret, publicKey: publicKeyOf(secret) };
}
