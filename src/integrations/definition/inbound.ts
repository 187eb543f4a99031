import type { ProviderCall } from '../calls/provider-call.ts';

/** A request to the address for a provider's events, before its sender is verified. */
export interface InboundRequest {
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: Buffer;
  /** The body as JSON; undefined where it is none. */
  json: unknown;
  /** The address as the provider knows it: from PUBLIC_URL, never from the request. */
  url: string;
}

/** One event of a provider. */
export interface Notice {
  /** `Account.id`. */
  accountId: string;
  /** The same for an event that is sent twice. At most 300 characters. */
  key: string;
  /** The integration's trigger; undefined for one without subscriptions, and for our own bot's messages. */
  trigger?: string;
  /** The data of the trigger. Undefined where `fetch` has to get it. */
  data?: unknown;
  /** The proof of the sender, where it is in the event and not in a header. */
  clientState?: string;
  /** The subscription that it was sent for, where the provider has such. */
  subscriptionId?: string;
  /** Facts from which `Inbound.fetch` finds the data. Small JSON. */
  reference?: Record<string, string>;
  /** A notice about the subscription itself: it ended, or must be renewed. */
  lifecycle?: 'renew' | 'removed' | 'missed';
  /** When our access to the account was revoked, if the event says that. */
  accessEndedAt?: Date;
}

/** Maximum size of a body whose signature is the proof. */
export const maxSignedBytes = 1024 * 1024;
/** Maximum size of a body that has something else as its proof. */
export const maxUnsignedBytes = 64 * 1024;

/** Where a provider sends its events. */
export interface Inbound {
  /** HTTP status of the acknowledgement. */
  acknowledged: 200 | 202;
  /** Answers the provider's verification of the address. `isSigned`: only after `verify`. */
  handshake?: {
    isSigned: boolean;
    /** In which form it is answered, for the reference. */
    answers: 'challenge' | 'text';
    answer(request: InboundRequest): { text: string } | { json: object } | undefined;
  };
  /** Each event of a request, at most 1,000. @returns undefined where it is not in the provider's form */
  notices(request: InboundRequest): Notice[] | undefined;
  /**
   * How much is read of a request's body before its sender is known.
   * @param now in milliseconds
   * @returns undefined where the headers alone show that nothing is proven
   */
  maxBodyBytes(headers: InboundRequest['headers'], now: number): number | undefined;
  /** The account that a handshake names, in the sandbox. */
  accountOfHandshake?(request: InboundRequest): string | undefined;
  /**
   * Whether who knows `secret` sent this, within 300 seconds of `now` where there is a time. Compares in constant time.
   * @param now in milliseconds
   */
  verify(request: InboundRequest, secret: string, now: number): boolean;
  /** The data of an event that contains only its address. @returns undefined for an event to drop */
  fetch?(reference: Record<string, string>, call: ProviderCall): Promise<unknown>;
}
