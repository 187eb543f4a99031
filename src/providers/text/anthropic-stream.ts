import { z } from 'zod';
import { type Listener, parseArgs } from './chat-answers.ts';

/** More than any model writes. */
const maxBlocks = 1_000;

const index = z.int().min(0).max(maxBlocks);
const usage = z.looseObject({});
const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: usage.optional() }) }),
  z.object({ type: z.literal('content_block_start'), index, content_block: z.looseObject({ type: z.string() }) }),
  z.object({ type: z.literal('content_block_delta'), index, delta: z.looseObject({ type: z.string() }) }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.string().nullish() }),
    usage: usage.optional(),
  }),
]);

/** Other events contain nothing of the answer, and new types may be added. */
const readTypes = ['message_start', 'content_block_start', 'content_block_delta', 'message_delta'];

/** Reasons to stop at which an answer is not whole. */
export const limits = ['max_tokens', 'model_context_window_exceeded'];

type Block = Record<string, unknown> & { type: string };

/** Fields of a block that its deltas continue, by the type of the delta. */
const continued: Record<string, string> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
};

/** Puts together the answer of a streamed message. */
export class ContentBlocks {
  readonly #blocks = new Map<number, Block>();
  /** JSON of the input of a call, by index of its block. */
  readonly #inputs = new Map<number, string>();
  readonly #onText: Listener;
  #usage: Record<string, unknown> = {};
  #reason: string | undefined;

  constructor(onText: Listener) {
    this.#onText = onText;
  }

  #extend(at: number, delta: Record<string, unknown> & { type: string }): void {
    const block = this.#blocks.get(at);
    if (!block) throw new Error('A block was continued before it began.');
    if (delta.type === 'input_json_delta') {
      this.#inputs.set(at, `${this.#inputs.get(at) ?? ''}${delta.partial_json ?? ''}`);
      return;
    }
    const field = continued[delta.type];
    if (field === undefined) return;
    const more = delta[field] ?? '';
    block[field] = `${block[field] ?? ''}${more}`;
    if (field === 'text') this.#onText(String(more));
  }

  /** @throws Error for an event that is not as documented. Those of other types are ignored. */
  add(given: { type: string }): void {
    if (!readTypes.includes(given.type)) return;
    const said = event.parse(given);
    if (said.type === 'message_start') this.#usage = said.message.usage ?? {};
    else if (said.type === 'content_block_delta') this.#extend(said.index, said.delta);
    else if (said.type === 'content_block_start') {
      this.#blocks.set(said.index, said.content_block);
      if (said.content_block.type === 'text') this.#onText(String(said.content_block.text ?? ''));
    } else {
      this.#reason = said.delta.stop_reason ?? this.#reason;
      // Later counts apply to the whole answer. Absent counts are unchanged.
      const present = Object.entries(said.usage ?? {}).filter(([, value]) => value != null);
      this.#usage = { ...this.#usage, ...Object.fromEntries(present) };
    }
  }

  /**
   * The answer in the form of an answer without a stream. A limit can cut the input of a call, which is then empty. So
   * is an input that is not a JSON object: `unreadable` has its beginning, by the id of its call.
   * @throws Error for a stream that ended early
   */
  whole(): unknown {
    if (this.#reason === undefined) throw new Error('The stream ended before the answer did.');
    const isCut = limits.includes(this.#reason);
    const unreadable: Record<string, string> = {};
    for (const [at, json] of this.#inputs) {
      const block = this.#blocks.get(at)!;
      const read = isCut ? { args: {} } : parseArgs(json);
      block.input = read.args;
      if (read.unreadable !== undefined) unreadable[String(block.id)] = read.unreadable;
    }
    const content = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    return { content, stop_reason: this.#reason, usage: this.#usage, unreadable };
  }
}
