import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Tenant } from '../tenant.ts';

/** The place where a sealed text is stored. The text can only be opened for the same place, not after a copy to another row. */
export interface SealedPlace {
  table: string;
  column: string;
  /** The row's primary key. */
  rowId: string;
  tenant: Tenant;
}

/**
 * Why a sealed text cannot be opened: no keys are configured, the key with this id is not, the stored text is not a sealed
 * text, or it was changed or sealed for another place.
 */
export type SealFailure = 'no_keys' | 'unknown_key' | 'malformed' | 'tampered';

/** For operators. The message names the key and the place, never a secret. */
export class SealError extends Error {
  override name = 'SealError';
  readonly reason: SealFailure;

  constructor(reason: SealFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The code and the sentence for tenants, who cannot mend it: the log of the process names the key. */
export const secretsUnreadable = 'secrets_unreadable';
export const secretsUnreadableMessage =
  'The stored secrets cannot be decrypted. The operator of this installation has to restore the key that encrypted them.';

const cipherName = 'aes-256-gcm';
/** Nonces are random, so one key may seal at most 2^32 texts (NIST SP 800-38D, 8.3). */
const nonceBytes = 12;
const tagBytes = 16;
const sealedPattern = /^v1:([a-z0-9]{1,16}):([A-Za-z0-9_-]+)$/;

interface Parts {
  keyId: string;
  nonce: Buffer;
  tag: Buffer;
  body: Buffer;
}

function parse(sealed: string): Parts {
  const [, keyId, text] = sealedPattern.exec(sealed) ?? [];
  const bytes = Buffer.from(text ?? '', 'base64url');
  // Base64 ignores spare bits at its end. Comparing the encoding rejects texts that were changed there.
  if (keyId === undefined || bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== text) {
    throw new SealError('malformed', 'The stored text is not a sealed text, or it is incomplete.');
  }
  const tagEnd = nonceBytes + tagBytes;
  return {
    keyId,
    nonce: bytes.subarray(0, nonceBytes),
    tag: bytes.subarray(nonceBytes, tagEnd),
    body: bytes.subarray(tagEnd),
  };
}

/** Additional authenticated data. JSON separates the parts unambiguously. */
const boundTo = (keyId: string, { table, column, rowId, tenant }: SealedPlace): Buffer =>
  Buffer.from(JSON.stringify(['v1', keyId, table, column, rowId, tenant.organizationId, tenant.environment]));

/** Encrypts secrets at rest with AES-256-GCM, as `v1:<key id>:<base64url of nonce, tag and ciphertext>`. */
export class Sealer {
  readonly #keys: Map<string, KeyObject>;
  readonly #current: string | undefined;

  /** @param ring `SEALING_KEYS`: the first key seals, every key opens. Without it `seal` and `open` throw */
  constructor(ring: string | undefined) {
    const keys = (ring ?? '').split(',').filter(Boolean);
    this.#keys = new Map(
      keys.map((key) => {
        const [id, secret] = key.split(':') as [string, string];
        return [id, createSecretKey(secret, 'base64')];
      }),
    );
    this.#current = this.#keys.keys().next().value;
  }

  /** @throws SealError no_keys */
  seal(text: string, place: SealedPlace): string {
    const keyId = this.#current;
    if (keyId === undefined) throw noKeys();
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(cipherName, this.#key(keyId), nonce, { authTagLength: tagBytes });
    cipher.setAAD(boundTo(keyId, place));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `v1:${keyId}:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
  }

  /** @throws SealError */
  open(sealed: string, place: SealedPlace): string {
    const { keyId, nonce, tag, body } = parse(sealed);
    const decipher = createDecipheriv(cipherName, this.#key(keyId), nonce, { authTagLength: tagBytes });
    decipher.setAAD(boundTo(keyId, place)).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch {
      const where = `${place.table}.${place.column} of row ${place.rowId}`;
      throw new SealError('tampered', `The sealed text in ${where} was changed or was sealed for another place.`);
    }
  }

  /** Whether a text was sealed with another key than the current one. Code that updates such a row seals it again. */
  needsResealing(sealed: string): boolean {
    return parse(sealed).keyId !== this.#current;
  }

  #key(id: string): KeyObject {
    if (this.#keys.size === 0) throw noKeys();
    const key = this.#keys.get(id);
    if (!key)
      throw new SealError(
        'unknown_key',
        `SEALING_KEYS does not contain the key "${id}", with which this text was sealed.`,
      );
    return key;
  }
}

const noKeys = () => new SealError('no_keys', 'SEALING_KEYS is not set, so secrets can be neither stored nor read.');
