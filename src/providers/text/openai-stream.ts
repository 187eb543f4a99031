import { z } from 'zod';
import type { Listener } from './chat-answers.ts';

/** More than any model calls at once. */
const maxCalls = 1_000;

const callDelta = z.looseObject({
  index: z.int().min(0).max(maxCalls).default(0),
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});
type CallDelta = z.infer<typeof callDelta>;

const chunk = z.object({
  choices: z
    .array(
      z.object({
        delta: z.looseObject({ content: z.string().nullish(), tool_calls: z.array(callDelta).nullish() }).nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: z.unknown().optional(),
});

interface Call {
  id: string;
  function: { name: string; arguments: string };
}

/** Puts together the answer of a streamed chat completion. */
export class MessageParts {
  readonly #message = new Map<string, unknown>();
  readonly #calls = new Map<number, Call>();
  readonly #onText: Listener;
  #reason: string | undefined;
  #usage: unknown;

  constructor(onText: Listener) {
    this.#onText = onText;
  }

  #addCall({ index, function: said, ...more }: CallDelta): void {
    const { id, ...rest } = more;
    const call = this.#calls.get(index) ?? { ...rest, id: '', function: { name: '', arguments: '' } };
    // Some compatible servers repeat the id and the name.
    if (id) call.id = id;
    if (said?.name) call.function.name = said.name;
    call.function.arguments += said?.arguments ?? '';
    this.#calls.set(index, call);
  }

  /** @throws Error for a chunk that is none */
  add(given: unknown): void {
    const { choices, usage } = chunk.parse(given);
    this.#usage = usage ?? this.#usage;
    const { delta, finish_reason } = choices?.[0] ?? {};
    this.#reason = finish_reason ?? this.#reason;
    const { tool_calls, role: _, ...texts } = delta ?? {};
    for (const [name, text] of Object.entries(texts)) {
      const before = this.#message.get(name);
      this.#message.set(
        name,
        typeof before === 'string' && typeof text === 'string' ? before + text : (text ?? before),
      );
    }
    for (const call of tool_calls ?? []) this.#addCall(call);
    if (delta?.content) this.#onText(delta.content);
  }

  /**
   * The answer in the form of one without a stream.
   * @throws Error for a stream that ended early
   */
  whole(): unknown {
    if (this.#reason === undefined) throw new Error('The stream ended before the answer did.');
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    const message = { ...Object.fromEntries(this.#message), ...(calls.length > 0 && { tool_calls: calls }) };
    return { choices: [{ finish_reason: this.#reason, message }], usage: this.#usage };
  }
}
