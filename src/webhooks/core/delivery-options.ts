/** The body of a request. */
export const payloadForms = {
  full: 'the whole event',
  thin: '`id`, `type` and `createdAt` of the event, and `data.id` alone',
} as const;
export type PayloadForm = keyof typeof payloadForms;

/** How requests are signed. */
export const signatureKinds = {
  hmac: 'with HMAC-SHA256 and a secret that the receiver knows, in three families of headers',
  ed25519: 'with Ed25519, as `v1a` in `webhook-signature` alone: the receiver knows the public key',
} as const;
export type SignatureKind = keyof typeof signatureKinds;

/** The order of deliveries. */
export const orderings = {
  none: 'deliveries do not wait for each other',
  subject:
    'the next delivery about the same `data.id` starts only after the one before was delivered or dead-lettered, and others do not wait for it',
} as const;
export type Ordering = keyof typeof orderings;

/** The owner's settings for the requests of a webhook. */
export interface DeliveryOptions {
  /** A CEL expression over `event`, its whole body: events for which it is not true are not delivered. */
  filter: string | null;
  payload: PayloadForm;
  signature: SignatureKind;
  ordering: Ordering;
}

export const defaultOptions: DeliveryOptions = { filter: null, payload: 'full', signature: 'hmac', ordering: 'none' };

export const optionNames = Object.keys(defaultOptions) as (keyof DeliveryOptions)[];
