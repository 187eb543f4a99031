import { createHmac } from 'node:crypto';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';

const pattern = /^([0-9a-f-]{36})\.[A-Za-z0-9_-]{43}$/;

/**
 * Secrets that prove the events of a subscription whose provider does not sign them: the provider sends back the secret
 * that the subscription was created with. A secret identifies its connection.
 */
export class ClientStates {
  readonly #key: string | undefined;

  /** @param key URL_SIGNING_KEY */
  constructor(key: string | undefined) {
    this.#key = key;
  }

  /** 80 characters; Microsoft Graph takes at most 128. @param connectionId uuid @returns undefined without a key */
  of(connectionId: string): string | undefined {
    if (this.#key === undefined) return undefined;
    const mac = createHmac('sha256', this.#key).update(`integration events ${connectionId}`).digest('base64url');
    return `${connectionId}.${mac}`;
  }

  /** The connection of a secret; undefined for a forged one. Compares in constant time. */
  connectionOf(clientState: string): string | undefined {
    const connectionId = pattern.exec(clientState)?.[1];
    const own = connectionId === undefined ? undefined : this.of(connectionId);
    return own !== undefined && isSameSecret(clientState, own) ? connectionId : undefined;
  }
}
