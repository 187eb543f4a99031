/** The signed data of an attempt. */
export interface SignedAttempt {
  /** `evt_…`: stays the same on every attempt and replay, for receivers to recognize. */
  eventId: string;
  eventType: string;
  /** `dlv_…` */
  deliveryId: string;
  /** The request's body, exactly as it is sent. */
  body: string;
  /** The time of this attempt, ms since the epoch: receivers refuse attempts that are older than five minutes. */
  sentAt: number;
}

/** All three families carry the same time, in whole seconds. */
function timesOf(sentAt: number): { seconds: string; iso: string } {
  const seconds = Math.floor(sentAt / 1_000);
  return { seconds: String(seconds), iso: new Date(seconds * 1_000).toISOString() };
}

/** What each family signs. */
interface SigningInputs {
  a: string;
  b: string;
  standard: string;
}

export function signingInputs({ eventId, body, sentAt }: SignedAttempt): SigningInputs {
  const { seconds, iso } = timesOf(sentAt);
  return { a: `${iso}.${body}`, b: body, standard: `${eventId}.${seconds}.${body}` };
}

/** HMAC-SHA256 of the three inputs under one secret: two in hexadecimal, the last one in base64. */
export type Signatures = Record<keyof SigningInputs, string>;

export const defaultBrand = 'Service';
/** Whether a word can be the brand of family A. `Webhook` belongs to family B. */
export const isBrand = (word: string): boolean => /^[A-Za-z][A-Za-z0-9]{0,31}$/.test(word) && !/^webhook$/i.test(word);

/**
 * The headers of an attempt: families A (`X-<brand>-…`), B (`X-Webhook-…`) and Standard Webhooks.
 * @param earlier signatures under the secrets before rotations that still sign, the newest first
 */
export function signatureHeaders(
  { eventId, eventType, deliveryId, sentAt }: SignedAttempt,
  brand: string,
  current: Signatures,
  earlier: readonly Signatures[] = [],
): Record<string, string> {
  const { seconds, iso } = timesOf(sentAt);
  const standard = [current, ...earlier].map((signatures) => `v1,${signatures.standard}`);
  const [previous] = earlier;
  return {
    [`X-${brand}-Signature`]: `sha256=${current.a}`,
    ...(previous && { [`X-${brand}-Signature-Previous`]: `sha256=${previous.a}` }),
    [`X-${brand}-Timestamp`]: iso,
    [`X-${brand}-Delivery`]: deliveryId,
    [`X-${brand}-Event`]: eventType,
    [`X-${brand}-Idempotency-Key`]: eventId,
    'X-Webhook-Signature': `sha256=${current.b}`,
    ...(previous && { 'X-Webhook-Signature-Previous': `sha256=${previous.b}` }),
    'X-Webhook-Timestamp': seconds,
    'X-Webhook-ID': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': seconds,
    'webhook-signature': standard.join(' '),
  };
}

/**
 * The headers of an attempt that is signed with private keys: what identifies it in all three families, and the signatures
 * of Standard Webhooks alone.
 * @param signatures Ed25519 of the input of Standard Webhooks, in base64, of the newest key first
 */
export function publicSignatureHeaders(
  { eventId, eventType, deliveryId, sentAt }: SignedAttempt,
  brand: string,
  signatures: readonly string[],
): Record<string, string> {
  const { seconds, iso } = timesOf(sentAt);
  return {
    [`X-${brand}-Timestamp`]: iso,
    [`X-${brand}-Delivery`]: deliveryId,
    [`X-${brand}-Event`]: eventType,
    [`X-${brand}-Idempotency-Key`]: eventId,
    'X-Webhook-Timestamp': seconds,
    'X-Webhook-ID': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.map((one) => `v1a,${one}`).join(' '),
  };
}

/** Whether a header belongs to these families and is therefore reserved. */
export const isSignatureHeader = (name: string, brand: string): boolean =>
  ['x-webhook-', 'webhook-', `x-${brand.toLowerCase()}-`].some((prefix) => name.toLowerCase().startsWith(prefix));
