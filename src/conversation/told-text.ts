import { createHash, type Hash } from 'node:crypto';

/** A part of a reply that is being written. */
export interface Delta {
  /** Of the question to the model, from 1. Another attempt begins its text anew. */
  attempt: number;
  /** Characters (UTF-16 code units) of this attempt before it. */
  at: number;
  text: string;
}

/** Characters that wait for a slow reader. What comes then is told from the reply, when it is complete. */
const mostWaiting = 64 * 1024;

/** Exact for halves of surrogate pairs too. */
const add = (hash: Hash, text: string) => hash.update(Buffer.from(text, 'utf16le'));
const differs = (one: Hash, other: Hash) => !one.copy().digest().equals(other.copy().digest());

/**
 * What one reader was told of a reply while it is written. Deltas can be lost, and another attempt of the model may write
 * another text: what was told cannot be taken back, so it is compared with what comes. It is remembered as a length and a
 * digest, whatever its length.
 */
export class ToldText {
  /** Accepted, and not read yet. */
  #waiting = '';
  /** Accepted so far. */
  #length = 0;
  #digest = createHash('sha256');
  /** The latest attempt, and how much of its text came without a gap. */
  #attempt = 0;
  #seen = 0;
  /** Of that; the same as `#digest` once it has caught up with what was told. */
  #seenDigest = this.#digest;
  #isContradicted = false;

  /** Whether the model began anew and wrote something else than was told. */
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
    if (this.#waiting.length + fresh.length > mostWaiting) return;
    this.#compare(again);
    if (this.#isContradicted || fresh === '') return;
    this.#waiting += fresh;
    this.#length += fresh.length;
    this.#seen += fresh.length;
    add(this.#digest, fresh);
  }

  /** What is to be told now. */
  take(): string {
    const text = this.#waiting;
    this.#waiting = '';
    return text;
  }

  /** What is to be told when the reply is complete; undefined where it contradicts what was told. */
  takeRest(content: string): string | undefined {
    const told = add(createHash('sha256'), content.slice(0, this.#length));
    if (content.length < this.#length || differs(told, this.#digest)) return undefined;
    return this.take() + content.slice(this.#length);
  }

  #beginAgain(attempt: number): void {
    this.#attempt = attempt;
    this.#seen = 0;
    this.#seenDigest = this.#length === 0 ? this.#digest : createHash('sha256');
  }

  /** Compares a text that was told before with what was told, as soon as there is as much of it. */
  #compare(again: string): void {
    if (again === '') return;
    add(this.#seenDigest, again);
    this.#seen += again.length;
    if (this.#seen < this.#length) return;
    this.#isContradicted = differs(this.#seenDigest, this.#digest);
    this.#seenDigest = this.#digest;
  }
}
