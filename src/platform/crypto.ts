import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Tenant } from './tenant.ts';

/** Where a sealed text is kept. It opens there and nowhere else: copied into another row it is noise. */
export interface SealedPlace {
  table: string;
  column: string;
  /** The row's key, whatever makes it one. */
  rowId: string;
  tenant: Tenant;
}

/**
 * Why a sealed text does not open: the process has no keys, none of this id, what is stored was never a sealed text, or
 * it was changed or stands in another place.
 */
export type SealFailure = 'no_keys' | 'unknown_key' | 'malformed' | 'tampered';

/** For operators: names the key and the place, never a secret. */
export class SealError extends Error {
  override name = 'SealError';
  readonly reason: SealFailure;

  constructor(reason: SealFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

const cipherName = 'aes-256-gcm';
/** Random, so one key is for at most 2^32 texts (NIST SP 800-38D, 8.3). */
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
  // The spelling is checked too: base64 has spare bits at its end, and a changed text must not open.
  if (keyId === undefined || bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== text) {
    throw new SealError('malformed', 'This is not a sealed text, or it is cut short.');
  }
  const tagEnd = nonceBytes + tagBytes;
  return {
    keyId,
    nonce: bytes.subarray(0, nonceBytes),
    tag: bytes.subarray(nonceBytes, tagEnd),
    body: bytes.subarray(tagEnd),
  };
}

/** What the tag also vouches for. JSON keeps the parts apart, whatever they contain. */
const boundTo = (keyId: string, { table, column, rowId, tenant }: SealedPlace): Buffer =>
  Buffer.from(JSON.stringify(['v1', keyId, table, column, rowId, tenant.organizationId, tenant.environment]));

/** Seals secrets at rest: AES-256-GCM, as `v1:<key id>:<base64url of nonce, tag and ciphertext>`. */
export class Sealer {
  readonly #keys: Map<string, KeyObject>;
  readonly #current: string | undefined;

  /** @param ring `SEALING_KEYS`: the first key seals, all of them open; without it nothing is sealed or opened */
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
      throw new SealError('tampered', `The sealed text in ${where} was changed, or sealed for another place.`);
    }
  }

  /** Whether another key than the one that seals now sealed it. Whoever writes the row anyway seals it anew. */
  needsResealing(sealed: string): boolean {
    return parse(sealed).keyId !== this.#current;
  }

  #key(id: string): KeyObject {
    if (this.#keys.size === 0) throw noKeys();
    const key = this.#keys.get(id);
    if (!key) throw new SealError('unknown_key', `SEALING_KEYS has no key "${id}", which this text was sealed with.`);
    return key;
  }
}

const noKeys = () => new SealError('no_keys', 'SEALING_KEYS is not set: secrets can neither be kept nor read.');
