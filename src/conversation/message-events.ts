import { type Delta, TextRelay } from '../platform/concurrency/text-relay.ts';
import { Waiters } from '../platform/concurrency/waiters.ts';
import type { Database } from '../platform/database/database.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { Tenant } from '../platform/tenant.ts';

/** Who follows a message in this process. */
interface Follower {
  tenant: Tenant;
  onDelta(delta: Delta): void;
  /** Something of the message was recorded. */
  onChange(): void;
}

/** Text of one message that waits to be sent. Further text is dropped here, and sent from the complete reply. */
const maxWaiting = 64 * 1024;

/**
 * Signals about messages that are under way: changes, and parts of replies. A reader in this process gets them directly, one in
 * another process by PostgreSQL's notifications. A lost piece does no harm: the row of the message has the whole reply.
 */
export class MessageEvents {
  readonly waiters = new Waiters('message');
  readonly #relay: TextRelay;
  readonly #followers = new Map<string, Set<Follower>>();
  /** The channels of processes to which parts of a message were sent. */
  readonly #remote = new Map<string, string>();

  constructor(database: Database, sealer: Sealer) {
    this.#relay = new TextRelay(database, sealer, { table: 'conversation_message', maxWaiting });
  }

  get channel(): string {
    return this.waiters.channel;
  }

  /** Where a change must be announced to; null where this process has the reader, or none waits. */
  remoteChannel(waiter: string | null): string | null {
    return this.waiters.remoteChannel(waiter);
  }

  /** @returns what ends it */
  follow(messageId: string, follower: Follower): () => void {
    const followers = this.#followers.get(messageId) ?? new Set();
    this.#followers.set(messageId, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0) this.#followers.delete(messageId);
    };
  }

  /** To be called when something of a message was recorded in this process. */
  notifyChange(messageId: string): void {
    for (const follower of this.#followers.get(messageId) ?? []) follower.onChange();
    this.waiters.notifyLocal(messageId);
  }

  /** Sends the reader of a message a part of its reply. */
  notifyDelta(messageId: string, waiter: string, tenant: Tenant, delta: Delta): void {
    if (waiter === this.channel) {
      for (const follower of this.#followers.get(messageId) ?? []) follower.onDelta(delta);
      return;
    }
    this.#remote.set(messageId, waiter);
    this.#relay.send({ channel: waiter, subject: messageId, tenant }, delta);
  }

  /** The reply is complete and recorded: nothing more needs to be sent of its parts. */
  forget(messageId: string): void {
    const channel = this.#remote.get(messageId);
    if (channel !== undefined) this.#relay.forget({ subject: messageId, channel });
    this.#remote.delete(messageId);
  }

  /** Receives what another process sent: the id of a message that changed, or with a part of its reply. */
  receive(payload: string): void {
    const [messageId = '', sealed] = payload.split(' ');
    if (sealed === undefined) this.notifyChange(messageId);
    else this.#receiveDelta(messageId, sealed);
  }

  #receiveDelta(messageId: string, sealed: string): void {
    for (const { tenant, onDelta } of this.#followers.get(messageId) ?? []) {
      const delta = this.#relay.open({ subject: messageId, tenant }, sealed);
      if (delta) onDelta(delta);
    }
  }
}
