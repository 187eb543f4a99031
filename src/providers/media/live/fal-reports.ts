import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { clock } from '../../../platform/clock.ts';
import { parseJson } from '../../../platform/core/bounded-json.ts';
import { CollectedBytes, PieceCount } from '../../../platform/egress/collected-bytes.ts';
import { fetchDispatcher } from '../../../platform/egress/egress-dispatcher.ts';
import { upstreamIdPattern } from './media-host.ts';

/** How old a report may be, or how far ahead the clock of its sender. */
export const reportWindowMs = 300_000;
/** fal allows to keep them for 24 hours. */
const keepKeysMs = 3_600_000;
/** If a signature matches no key, new keys are fetched, at most this often, whatever requests arrive. */
const againMs = 60_000;
const timeoutMs = 10_000;
const maxKeyBytes = 64 * 1024;
const maxKeys = 20;

/** What signs a report: headers in lower case. */
const signedHeaders = {
  requestId: 'x-fal-webhook-request-id',
  userId: 'x-fal-webhook-user-id',
  timestamp: 'x-fal-webhook-timestamp',
  signature: 'x-fal-webhook-signature',
} as const;

export interface ReportSignature {
  /** fal's id of the job. */
  requestId: string;
  userId: string;
  /** Unix seconds, as it was sent. */
  timestamp: string;
  signature: Buffer;
}

/**
 * Reads the headers of a report, before its body is.
 * @param now ms since the epoch
 * @returns undefined when one is missing, malformed, or of another time
 */
export function readSignature(header: (name: string) => string | undefined, now: number): ReportSignature | undefined {
  const [requestId = '', userId = '', timestamp = '', signature = ''] = Object.values(signedHeaders).map(header);
  const isGood =
    upstreamIdPattern.test(requestId) &&
    /^[\w.|:@+/=-]{1,200}$/.test(userId) &&
    /^\d{1,12}$/.test(timestamp) &&
    /^[0-9a-fA-F]{128}$/.test(signature) &&
    Math.abs(now - Number(timestamp) * 1_000) <= reportWindowMs;
  return isGood ? { requestId, userId, timestamp, signature: Buffer.from(signature, 'hex') } : undefined;
}

const hash = (body: Uint8Array) => createHash('sha256').update(body).digest('hex');

/** What fal signs: three headers and the SHA-256 of the raw body, in lines. */
const signedText = ({ requestId, userId, timestamp }: ReportSignature, body: Uint8Array) =>
  Buffer.from([requestId, userId, timestamp, hash(body)].join('\n'));

/** Whether one of the keys made the signature. */
export function isSigned(report: ReportSignature, body: Uint8Array, keys: readonly KeyObject[]): boolean {
  const text = signedText(report, body);
  return keys.some((key) => verify(null, text, key, report.signature));
}

const jwks = z.object({
  keys: z.array(z.looseObject({ kty: z.string(), crv: z.string().optional(), x: z.string().optional() })),
});

/** The ED25519 keys of a JSON Web Key Set; others are left out. @throws for an invalid key set */
export function readKeys(text: string): KeyObject[] {
  return jwks
    .parse(parseJson(text, maxKeyBytes))
    .keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
    .slice(0, maxKeys)
    .map((key) => createPublicKey({ key: key as never, format: 'jwk' }));
}

async function fetchText(url: string): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { redirect: 'error', signal, dispatcher: await fetchDispatcher() });
  if (!response.ok) throw new Error(`The keys of fal cannot be fetched (HTTP ${response.status}).`);
  const collected = new CollectedBytes();
  const pieces = new PieceCount();
  for await (const chunk of response.body ?? []) {
    if (collected.size + chunk.length > maxKeyBytes) throw new Error('The keys of fal are too large.');
    if (!pieces.add(chunk.length)) throw new Error('The keys of fal are sent in too many small pieces.');
    collected.add(chunk);
  }
  return collected.bytes().toString('utf8');
}

interface FalReportsOptions {
  /** Where fal publishes its keys. */
  keysUrl: string;
  /** Reads the text at a URL. */
  read?: (url: string) => Promise<string>;
  /** ms since the epoch. */
  now?: () => number;
}

/** Checks reports of fal. Its keys are fetched when the first report comes and kept for an hour. */
export class FalReports {
  readonly #url: string;
  readonly #read: (url: string) => Promise<string>;
  readonly #now: () => number;
  #keys: KeyObject[] = [];
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor({ keysUrl, read = fetchText, now = clock.now }: FalReportsOptions) {
    this.#url = keysUrl;
    this.#read = read;
    this.#now = now;
  }

  /** @returns the signature of a report, of which only the headers are known yet; undefined when it cannot be good */
  readSignature(header: (name: string) => string | undefined): ReportSignature | undefined {
    return readSignature(header, this.#now());
  }

  /** Whether fal sent this body. @throws Error while no keys are known and they cannot be fetched */
  async isGenuine(report: ReportSignature, body: Uint8Array): Promise<boolean> {
    if (this.#now() - this.#fetchedAt > keepKeysMs) await this.#refresh();
    if (isSigned(report, body, this.#keys)) return true;
    const fetchedAt = this.#fetchedAt;
    await this.#refresh();
    return this.#fetchedAt !== fetchedAt && isSigned(report, body, this.#keys);
  }

  /** All waiters share one request. If new keys cannot be fetched, the earlier ones stay in use. */
  async #refresh(): Promise<void> {
    if (!this.#fetching && this.#now() - this.#triedAt > againMs) {
      this.#triedAt = this.#now();
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
    }
    try {
      await this.#fetching;
    } catch (error) {
      if (this.#keys.length === 0) throw error;
    }
    if (this.#keys.length === 0) throw new Error('The keys of fal are not known.');
  }

  async #fetch(): Promise<void> {
    this.#keys = readKeys(await this.#read(this.#url));
    this.#fetchedAt = this.#now();
  }
}
