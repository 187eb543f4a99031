import type { Delta } from '../../platform/concurrency/text-relay.ts';

/** Characters of one step that are kept for readers. Of a longer text they receive the beginning, and the whole at its end. */
export const maxKept = 256 * 1024;

/**
 * The text of a step while its model writes it. An attempt that repeats the existing text changes nothing; an attempt
 * that writes another text replaces it.
 */
export class StepText {
  /** Grows when the text is replaced. */
  generation = 0;
  text = '';
  /** The result of the step is known: its readers are about to see it. On the clock of `performance`. */
  endedAt: number | undefined;
  #attempt = 0;
  /** The text of the latest attempt, while it only repeats. */
  #repeated: string | undefined;

  /** @returns what became of it: `gap` when a part before it is missing */
  accept({ attempt, at, text }: Delta): 'accepted' | 'known' | 'gap' {
    if (attempt < this.#attempt) return 'known';
    if (attempt > this.#attempt) {
      this.#attempt = attempt;
      this.#repeated = this.text === '' ? undefined : '';
    }
    const current = this.#repeated ?? this.text;
    // Most parts are appended, at a cost that does not grow with the text.
    if (this.#repeated === undefined && at === current.length && at + text.length <= maxKept && text !== '') {
      this.text += text;
      return 'accepted';
    }
    if (at > current.length) return current.length === maxKept ? 'known' : 'gap';
    if (at + text.length <= current.length) return 'known';
    const next = (current + text.slice(current.length - at)).slice(0, maxKept);
    if (this.#repeated !== undefined && this.text.startsWith(next)) {
      this.#repeated = next;
      return 'known';
    }
    if (!next.startsWith(this.text)) this.generation++;
    this.text = next;
    this.#repeated = undefined;
    return 'accepted';
  }

  /** All that the latest attempt wrote. */
  get whole(): Delta {
    return { attempt: this.#attempt, at: 0, text: this.#repeated ?? this.text };
  }
}
