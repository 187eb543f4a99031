import { setTimeout as sleep } from 'node:timers/promises';
import { Waiters } from '../platform/concurrency/waiters.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { Delta } from './sent-text.ts';

/** Who follows a message in this process. */
export interface Follower {
  tenant: Tenant;
  onDelta(delta: Delta): void;
  /** Something of the message was recorded. */
  onChange(): void;
}

/** Text on its way to another process. */
interface Outgoing extends Delta {
  channel: string;
  tenant: Tenant;
}

const notifyAll = systemStatement({
  name: 'message.notify_deltas',
  parameters: { channels: 'text[]', payloads: 'text[]' },
  text: 'select pg_notify(channel, payload) from unnest(:channels, :payloads) as sent (channel, payload)',
});

/** PostgreSQL takes payloads below 8,000 bytes: three bytes a character, sealed and in base64, are less. */
const piecesOf = 1_800;
/** Text of one message that waits to be sent. Further text is dropped here, and sent from the complete reply. */
const maxWaiting = 64 * 1024;
/** Between two batches. Text that comes meanwhile joins what waits. */
const pauseMs = 25;

const place = (messageId: string, tenant: Tenant) => ({
  table: 'conversation_message',
  column: 'delta',
  rowId: messageId,
  tenant,
});

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;

/** The length of a piece that ends with a whole character; 0 where there is none. */
function pieceLength(text: string): number {
  const length = Math.min(piecesOf, text.length);
  return isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length;
}

/**
 * Signals about messages that are under way: changes, and parts of replies. A reader in this process gets them directly, one in
 * another process by PostgreSQL's notifications, sealed. One statement at a time carries those of all messages, so with a slow
 * database there are fewer and larger pieces. A lost piece does no harm: the row of the message has the whole reply.
 */
export class MessageEvents {
  readonly waiters = new Waiters('message');
  readonly #database: Database;
  readonly #sealer: Sealer;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #outgoing = new Map<string, Outgoing>();
  #isSending = false;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  get channel(): string {
    return this.waiters.channel;
  }

  /** Where a change must be announced to; null where this process has the reader, or nobody waits. */
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
    const waiting = this.#outgoing.get(messageId);
    if (waiting && waiting.attempt === delta.attempt) {
      const follows = waiting.at + waiting.text.length === delta.at;
      if (follows && waiting.text.length + delta.text.length <= maxWaiting) waiting.text += delta.text;
    } else this.#outgoing.set(messageId, { channel: waiter, tenant, ...delta });
    void this.#send();
  }

  /** The reply is complete and recorded: nothing more needs to be sent of its parts. */
  forget(messageId: string): void {
    this.#outgoing.delete(messageId);
  }

  /** Receives what another process sent: the id of a message that changed, or with a part of its reply. */
  receive(payload: string): void {
    const [messageId = '', sealed] = payload.split(' ');
    if (sealed === undefined) this.notifyChange(messageId);
    else this.#receiveDelta(messageId, sealed);
  }

  #receiveDelta(messageId: string, sealed: string): void {
    for (const { tenant, onDelta } of this.#followers.get(messageId) ?? []) {
      const delta = this.#open(messageId, tenant, sealed);
      if (delta) onDelta(delta);
    }
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (;;) {
        const pieces = [...this.#outgoing].flatMap(([messageId, outgoing]) => this.#nextPiece(messageId, outgoing));
        if (pieces.length === 0) return;
        const channels = pieces.map(({ channel }) => channel);
        const payloads = pieces.map(({ payload }) => payload);
        // What is lost is sent from the complete reply.
        await sqlOn(this.#database.pool)
          .rows(notifyAll, { channels, payloads })
          .catch(() => {});
        await sleep(pauseMs, undefined, { ref: false });
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Takes the next piece of a message's text away. */
  #nextPiece(messageId: string, outgoing: Outgoing): { channel: string; payload: string }[] {
    const { channel, tenant, attempt, at, text } = outgoing;
    const length = pieceLength(text);
    // Half of a character: what comes next joins it.
    if (length === 0) return [];
    outgoing.at += length;
    outgoing.text = text.slice(length);
    if (outgoing.text === '') this.#outgoing.delete(messageId);
    const piece = `${attempt} ${at} ${text.slice(0, length)}`;
    return [{ channel, payload: `${messageId} ${this.#sealer.seal(piece, place(messageId, tenant))}` }];
  }

  #open(messageId: string, tenant: Tenant, sealed: string): Delta | undefined {
    try {
      const piece = this.#sealer.open(sealed, place(messageId, tenant));
      const [, attempt, at, text] = /^(\d+) (\d+) (.*)$/s.exec(piece) ?? [];
      return text === undefined ? undefined : { attempt: Number(attempt), at: Number(at), text };
    } catch {
      // During a rotation of keys another process may have other ones. The complete reply has the text.
      return undefined;
    }
  }
}
