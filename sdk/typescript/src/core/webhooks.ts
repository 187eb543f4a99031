import type { WebhookEvent } from '../generated/api/types.gen.ts';
import { AtelierError } from './errors.ts';

/** The headers of a request, as any server gives them. Their names may be in any case. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

const toleranceMs = 5 * 60_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

type Bytes = Uint8Array<ArrayBuffer>;

/** One way in which a request may be signed: the signed data, the time, and the signatures. */
interface Family {
  content: Bytes;
  at: number;
  /** Signatures with HMAC-SHA256, and whether their key is the decoded secret or the whole one. */
  hmac: Bytes[];
  decodesSecret: boolean;
  /** Signatures with Ed25519. */
  ed25519: Bytes[];
}

const fromBase64 = (text: string): Bytes | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
};

const fromHex = (text: string): Bytes | undefined =>
  /^(?:[0-9a-f]{2})+$/i.test(text)
    ? Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : undefined;

const known = (signatures: (Bytes | undefined)[]): Bytes[] => signatures.filter((one) => one !== undefined);

/** `sha256=<hex>`, of the current secret and of the one before. */
const hexSignatures = (read: (name: string) => string | undefined, name: string): Bytes[] =>
  known(
    [name, `${name}-previous`].map((header) => {
      const text = read(header) ?? '';
      return text.startsWith('sha256=') ? fromHex(text.slice('sha256='.length)) : undefined;
    }),
  );

function join(...parts: (string | Bytes)[]): Bytes {
  const pieces = parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part));
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** The families whose headers a request has. */
function familiesOf(headers: Map<string, string>, body: Bytes): Family[] {
  const read = (name: string) => headers.get(name);
  const families: Family[] = [];
  const id = read('webhook-id');
  const sentAt = read('webhook-timestamp');
  const signatures = read('webhook-signature');
  if (id !== undefined && sentAt !== undefined && signatures !== undefined) {
    const ofKind = (kind: string) =>
      known(
        signatures
          .split(' ')
          .filter((one) => one.startsWith(`${kind},`))
          .map((one) => fromBase64(one.slice(kind.length + 1))),
      );
    families.push({
      content: join(`${id}.${sentAt}.`, body),
      at: Number(sentAt) * 1_000,
      hmac: ofKind('v1'),
      decodesSecret: true,
      ed25519: ofKind('v1a'),
    });
  }
  for (const name of headers.keys()) {
    if (!name.startsWith('x-') || !name.endsWith('-signature')) continue;
    const time = read(`${name.slice(0, -'signature'.length)}timestamp`);
    if (time === undefined) continue;
    // Family B is called after webhooks and signs the body alone. A is called after the brand of the installation.
    const isB = name === 'x-webhook-signature';
    families.push({
      content: isB ? body : join(`${time}.`, body),
      at: isB ? Number(time) * 1_000 : Date.parse(time),
      hmac: hexSignatures(read, name),
      decodesSecret: false,
      ed25519: [],
    });
  }
  return families;
}

async function isSignedWith(secret: string, { content, hmac, decodesSecret, ed25519 }: Family): Promise<boolean> {
  const isPublic = secret.startsWith('whpk_');
  const signatures = isPublic ? ed25519 : hmac;
  if (signatures.length === 0) return false;
  const key = isPublic || decodesSecret ? fromBase64(secret.replace(/^wh(?:sec|pk)_/, '')) : encoder.encode(secret);
  if (!key || key.length === 0) return false;
  const algorithm = isPublic ? { name: 'Ed25519' } : { name: 'HMAC', hash: 'SHA-256' };
  try {
    const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['verify']);
    // Compares in constant time.
    const checked = signatures.map((one) => crypto.subtle.verify(algorithm.name, imported, one, content));
    return (await Promise.all(checked)).includes(true);
  } catch {
    return false;
  }
}

function readHeaders(headers: WebhookHeaders): Map<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return new Map(
    entries.flatMap(([name, value]) => {
      const text = typeof value === 'string' ? value : value?.join(' ');
      return text === undefined ? [] : [[name.toLowerCase(), text] as const];
    }),
  );
}

/** What receivers of webhooks need. */
// biome-ignore lint/complexity/noStaticOnlyClass: it is called as the namespace of what receivers need
export class Webhooks {
  /**
   * Verifies a request of the service, and returns its event. The request is genuine if one of its families of
   * signatures matches one of the secrets, and was made within five minutes of now.
   * @param rawBody the body before any JSON parser
   * @param secret a secret (`whsec_…`) or a public key (`whpk_…`), or a list of them during a rotation
   * @throws AtelierError `invalid_signature`, `timestamp_out_of_range`
   */
  static async verify(
    rawBody: string | ArrayBuffer | Bytes,
    headers: WebhookHeaders,
    secret: string | readonly string[],
  ): Promise<WebhookEvent> {
    const body =
      typeof rawBody === 'string'
        ? encoder.encode(rawBody)
        : rawBody instanceof ArrayBuffer
          ? new Uint8Array(rawBody)
          : rawBody;
    const secrets = typeof secret === 'string' ? [secret] : secret;
    let isLate = false;
    for (const family of familiesOf(readHeaders(headers), body)) {
      const checked = await Promise.all(secrets.map((one) => isSignedWith(one, family)));
      if (!checked.includes(true)) continue;
      if (Math.abs(Date.now() - family.at) <= toleranceMs) return JSON.parse(decoder.decode(body)) as WebhookEvent;
      isLate = true;
    }
    if (isLate) throw new AtelierError('The webhook was signed too long ago.', { code: 'timestamp_out_of_range' });
    throw new AtelierError('The webhook has no signature of this secret.', { code: 'invalid_signature' });
  }
}
