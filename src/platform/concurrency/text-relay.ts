import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { sqlOn, systemStatement } from '../database/sql.ts';
import type { Sealer } from '../security/crypto.ts';
import type { Tenant } from '../tenant.ts';

/** A part of a text that is being written. */
export interface Delta {
  /** The attempt to write it, from 1. Each attempt begins its text anew. */
  attempt: number;
  /** Characters (UTF-16 code units) of this attempt before it. */
  at: number;
  text: string;
}

/** A text, and the process that reads it. */
interface TextReader {
  /** The notification channel of the process. */
  channel: string;
  /** The id of the text, without spaces. */
  subject: string;
  tenant: Tenant;
}

interface Outgoing extends Delta, TextReader {}

const notifyAll = systemStatement({
  name: 'text.notify_deltas',
  parameters: { channels: 'text[]', payloads: 'text[]' },
  text: 'select pg_notify(channel, payload) from unnest(:channels, :payloads) as sent (channel, payload)',
});

/** PostgreSQL takes payloads below 8,000 bytes: three bytes a character, sealed and in base64, are less. */
const piecesOf = 1_800;
/** The wait between two batches. Text that arrives during it joins the waiting text. */
const pauseMs = 25;

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;

/** The length of a piece that ends with a whole character; 0 where there is none. */
function pieceLength(text: string): number {
  const length = Math.min(piecesOf, text.length);
  return isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length;
}

const keyOf = ({ subject, channel }: Pick<TextReader, 'subject' | 'channel'>) => `${subject} ${channel}`;

interface TextRelayOptions {
  /** Binds the sealed text to its use. */
  table: string;
  /** Maximum characters of one text that wait to be sent. Further text is dropped. */
  maxWaiting: number;
}

/**
 * Sends texts that are being written to readers in other processes, by PostgreSQL's notifications, sealed. One
 * statement at a time carries those of all texts, so with a slow database there are fewer and larger pieces. A piece
 * can be lost.
 */
export class TextRelay {
  readonly #database: Database;
  readonly #sealer: Sealer;
  readonly #options: TextRelayOptions;
  readonly #outgoing = new Map<string, Outgoing>();
  #isSending = false;

  constructor(database: Database, sealer: Sealer, options: TextRelayOptions) {
    this.#database = database;
    this.#sealer = sealer;
    this.#options = options;
  }

  send(reader: TextReader, delta: Delta): void {
    const key = keyOf(reader);
    const waiting = this.#outgoing.get(key);
    if (waiting && waiting.attempt === delta.attempt) {
      const follows = waiting.at + waiting.text.length === delta.at;
      const fits = waiting.text.length + delta.text.length <= this.#options.maxWaiting;
      if (follows && fits) waiting.text += delta.text;
    } else this.#outgoing.set(key, { ...reader, ...delta });
    void this.#send();
  }

  /** Drops the waiting text for a reader. */
  forget(reader: Pick<TextReader, 'subject' | 'channel'>): void {
    this.#outgoing.delete(keyOf(reader));
  }

  /** Reads what another process sent; undefined where its keys are other ones, as during their rotation. */
  open({ subject, tenant }: Omit<TextReader, 'channel'>, sealed: string): Delta | undefined {
    try {
      const piece = this.#sealer.open(sealed, this.#place(subject, tenant));
      const [, attempt, at, text] = /^(\d+) (\d+) (.*)$/s.exec(piece) ?? [];
      return text === undefined ? undefined : { attempt: Number(attempt), at: Number(at), text };
    } catch {
      return undefined;
    }
  }

  #place(rowId: string, tenant: Tenant) {
    return { table: this.#options.table, column: 'delta', rowId, tenant };
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (;;) {
        const pieces = [...this.#outgoing.values()].flatMap((outgoing) => this.#nextPiece(outgoing));
        if (pieces.length === 0) return;
        const channels = pieces.map(({ channel }) => channel);
        const payloads = pieces.map(({ payload }) => payload);
        await sqlOn(this.#database.pool)
          .rows(notifyAll, { channels, payloads })
          .catch(() => {});
        await sleep(pauseMs, undefined, { ref: false });
      }
    } catch {
      // Without SEALING_KEYS nothing can be sealed, and readers in other processes get the text when it is recorded.
      this.#outgoing.clear();
    } finally {
      this.#isSending = false;
    }
  }

  /** Takes the next piece of a text away. */
  #nextPiece(outgoing: Outgoing): { channel: string; payload: string }[] {
    const { channel, subject, tenant, attempt, at, text } = outgoing;
    const length = pieceLength(text);
    // Half of a character: the next text joins it.
    if (length === 0) return [];
    outgoing.at += length;
    outgoing.text = text.slice(length);
    if (outgoing.text === '') this.forget(outgoing);
    const piece = `${attempt} ${at} ${text.slice(0, length)}`;
    return [{ channel, payload: `${subject} ${this.#sealer.seal(piece, this.#place(subject, tenant))}` }];
  }
}
