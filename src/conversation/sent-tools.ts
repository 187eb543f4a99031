import type { AskedCall } from '../tools/core/rounds.ts';
import type { StoredMessage } from './messages.ts';
import type { EntryRow } from './open-message.ts';
import type { SealedMessage } from './sealed-message.ts';

/** An event besides the reply of a message, for its reader. */
export type ToolEvent =
  | { name: 'thought'; text: string }
  | { name: 'tool_call'; index: number; call: Pick<AskedCall, 'name' | 'args'> }
  | { name: 'tool_result'; index: number; call: { name: string; result: string; isError: boolean } };

/** Which events of tools were sent to the reader of a message. */
export class SentTools {
  readonly #columns: SealedMessage;
  readonly #messageId: string;
  /** The calls of the latest round. */
  #calls: AskedCall[] = [];
  #round = 0;
  #index = -1;
  /** Position in its round of the call at `#index`, from 1. */
  #position = 0;
  #hasResult = true;

  constructor(columns: SealedMessage, messageId: string) {
    this.#columns = columns;
    this.#messageId = messageId;
  }

  /** The first entry that may be new. Entries that were sent are not read again: answers of models can be large. */
  get next(): { round: number; position: number } {
    return { round: this.#round, position: this.#hasResult ? this.#position + 1 : this.#position };
  }

  /** @param entries in order, from `next` on */
  *read(entries: readonly EntryRow[]): Generator<ToolEvent> {
    for (const { round, position, content } of entries) {
      if (position === 0) yield* this.#readAnswer(round, content!);
      else if (round === this.#round) yield* this.#readCall(position, content);
    }
  }

  /** The missing calls and results of a message that has ended and whose entries are deleted. */
  *readRest({ reply }: StoredMessage): Generator<ToolEvent> {
    for (const [index, { name, args, result, isError }] of (reply?.toolCalls ?? []).entries()) {
      if (index > this.#index) yield { name: 'tool_call', index, call: { name, args } };
      if (index > this.#index || (index === this.#index && !this.#hasResult)) {
        yield { name: 'tool_result', index, call: { name, result, isError } };
      }
    }
  }

  *#readAnswer(round: number, content: string): Generator<ToolEvent> {
    if (round <= this.#round) return;
    const { calls, text } = this.#columns.openAnswer({ messageId: this.#messageId, round }, content);
    this.#round = round;
    this.#position = 0;
    this.#calls = calls;
    if (text.trim() !== '') yield { name: 'thought', text };
  }

  *#readCall(position: number, content: string | null): Generator<ToolEvent> {
    if (position < this.#position || (position === this.#position && this.#hasResult)) return;
    const { name, args } = this.#calls[position - 1]!;
    if (position > this.#position) {
      this.#position = position;
      this.#index += 1;
      this.#hasResult = false;
      yield { name: 'tool_call', index: this.#index, call: { name, args } };
    }
    if (content === null) return;
    this.#hasResult = true;
    const place = { messageId: this.#messageId, round: this.#round, position };
    const { text: result, isError } = this.#columns.openResult(place, content);
    yield { name: 'tool_result', index: this.#index, call: { name, result, isError } };
  }
}
