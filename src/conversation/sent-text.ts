import { createHash, type Hash } from 'node:crypto';
import type { Delta } from '../platform/concurrency/text-relay.ts';

/** Characters that wait for a slow reader. Further text is sent from the reply, when it is complete. */
const maxWaiting = 64 * 1024;

/** Exact for halves of surrogate pairs too. */
const add = (hash: Hash, text: string) => hash.update(Buffer.from(text, 'utf16le'));
const differs = (one: Hash, other: Hash) => !one.copy().digest().equals(other.copy().digest());

/**
 * The text of a reply that was sent to one reader while it was written. Deltas can be lost, and another attempt of the
 * model may write another text. Sent text cannot be taken back, so later text is compared with it. Only its length and
 * digest are kept.
 */
export class SentText {
  /** Accepted, and not read yet. */
  #waiting = '';
  /** Accepted so far. */
  #length = 0;
  #digest = createHash('sha256');
  /** The latest attempt, and how much of its text came without a gap. */
  #attempt = 0;
  #seen = 0;
  /** The digest of that text; the same as `#digest` once the attempt has caught up with the sent text. */
  #seenDigest = this.#digest;
  #isContradicted = false;

  /** Whether the text of another attempt of the model differs from the sent text. */
  get isContradicted(): boolean {
    return this.#isContradicted;
  }

  get hasWaiting(): boolean {
    return this.#waiting !== '';
  }

  accept({ attempt, at, text }: Delta): void {
    if (attempt < this.#attempt || this.#isContradicted) return;
    if (attempt > this.#attempt) this.#beginAgain(attempt);
    // A gap, or something that came before.
    if (at > this.#seen || at + text.length <= this.#seen) return;
    const unseen = text.slice(this.#seen - at);
    const again = unseen.slice(0, this.#length - this.#seen);
    const fresh = unseen.slice(again.length);
    if (this.#waiting.length + fresh.length > maxWaiting) return;
    this.#compare(again);
    if (this.#isContradicted || fresh === '') return;
    this.#waiting += fresh;
    this.#length += fresh.length;
    this.#seen += fresh.length;
    add(this.#digest, fresh);
  }

  /** The text to send now. */
  take(): string {
    const text = this.#waiting;
    this.#waiting = '';
    return text;
  }

  /** The rest to send when the reply is complete; undefined if the reply contradicts the sent text. */
  takeRest(content: string): string | undefined {
    const sent = add(createHash('sha256'), content.slice(0, this.#length));
    if (content.length < this.#length || differs(sent, this.#digest)) return undefined;
    return this.take() + content.slice(this.#length);
  }

  #beginAgain(attempt: number): void {
    this.#attempt = attempt;
    this.#seen = 0;
    this.#seenDigest = this.#length === 0 ? this.#digest : createHash('sha256');
  }

  /** Compares another attempt's text with the sent text, as soon as it is as long. */
  #compare(again: string): void {
    if (again === '') return;
    add(this.#seenDigest, again);
    this.#seen += again.length;
    if (this.#seen < this.#length) return;
    this.#isContradicted = differs(this.#seenDigest, this.#digest);
    this.#seenDigest = this.#digest;
  }
}
