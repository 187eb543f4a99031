import type { ChatReply } from '../generated/api/types.gen.ts';
import { AtelierError, ProviderError } from './errors.ts';
import { EventStream, type ServerEvent } from './streams.ts';

/** The text of a model, as it is written. `reply` is the last event: the whole reply. */
export type ReplyEvent =
  | ServerEvent<'delta' | 'thought', { text: string }>
  | ServerEvent<'tool_call', { index: number; name: string; args: Record<string, unknown> | null }>
  | ServerEvent<'tool_result', { index: number; name: string; result: string; isError?: boolean }>
  | ServerEvent<'reply', ChatReply & { creditsUsed: number }>;

type FinalReply = Extract<ReplyEvent, { event: 'reply' }>['data'];

/** The last event of a reply that failed has the sentence of the error. */
function throwFailure({ event, data }: ServerEvent): void {
  if (event !== 'error') return;
  const { error } = data as { error?: unknown };
  throw new ProviderError(typeof error === 'string' ? error : 'The reply failed.');
}

/** What of an event was not received before. */
class Received {
  #text = 0;
  #others = 0;
  #seenText = 0;
  #seenOthers = 0;

  /** Another connection sends everything from the beginning. */
  begin(): void {
    this.#seenText = 0;
    this.#seenOthers = 0;
  }

  rest(event: ReplyEvent): ReplyEvent | undefined {
    if (event.event === 'reply') return event;
    if (event.event !== 'delta') {
      this.#seenOthers += 1;
      if (this.#seenOthers <= this.#others) return undefined;
      this.#others = this.#seenOthers;
      return event;
    }
    const { text } = event.data;
    const before = this.#seenText;
    this.#seenText += text.length;
    if (this.#seenText <= this.#text) return undefined;
    const known = Math.max(0, this.#text - before);
    this.#text = this.#seenText;
    return known === 0 ? event : { ...event, data: { text: text.slice(known) } };
  }
}

/** The events of a reply. A lost connection is reopened with the same key, and each event is returned once. */
export class ReplyStream implements AsyncIterable<ReplyEvent> {
  readonly #events: EventStream<ReplyEvent>;
  readonly #received = new Received();

  /** @param settings of the stream of events */
  constructor(settings: Omit<ConstructorParameters<typeof EventStream>[0], 'isLast'>) {
    this.#events = new EventStream<ReplyEvent>({
      ...settings,
      open: (connection) => {
        this.#received.begin();
        return settings.open(connection);
      },
      isLast: ({ event }) => event === 'reply',
    });
  }

  /** @throws ProviderError when the reply fails; AtelierError */
  async *[Symbol.asyncIterator](): AsyncGenerator<ReplyEvent, void, undefined> {
    for await (const event of this.#events) {
      throwFailure(event);
      const rest = this.#received.rest(event);
      if (rest) yield rest;
    }
  }

  /** Reads the stream to its end, and returns the whole reply. */
  async reply(): Promise<FinalReply> {
    for await (const { event, data } of this) if (event === 'reply') return data;
    throw new AtelierError('The stream ended without a reply.');
  }

  /** Reads the stream to its end, and returns the text of the reply. */
  async text(): Promise<string> {
    return (await this.reply()).content;
  }
}
