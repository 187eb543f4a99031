import { WakeSignal } from '../platform/concurrency/wake-signal.ts';
import { readPatiently } from '../platform/database/database-errors.ts';
import type { Scope } from '../platform/database/scope.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { MessageEvents } from './message-events.ts';
import { findMessage, type StoredMessage } from './messages.ts';
import { findEntries } from './open-message.ts';
import { sealedMessage } from './sealed-message.ts';
import { SentText } from './sent-text.ts';
import { SentTools, type ToolEvent } from './sent-tools.ts';

export interface FollowServices {
  sealer: Sealer;
  messageEvents: MessageEvents;
}

/** An event of a message, for its reader. `contradicted` and `ended` are the last ones. */
export type ReplyEvent =
  | ToolEvent
  | { name: 'delta'; text: string }
  /** The model began again and its text differs from the sent text. */
  | { name: 'contradicted' }
  /** Undefined: it was removed. */
  | { name: 'ended'; message: StoredMessage | undefined };

/** How often the row is read without a notification, because one can be lost. */
const lookEveryMs = 2_000;

/** One reader of a message. It misses nothing after its creation, so a message may end before the first read. */
export class ReplyReader {
  readonly #services: FollowServices;
  readonly #scope: Scope;
  readonly #messageId: string;
  readonly #wake = new WakeSignal();
  readonly #text = new SentText();
  readonly #tools: SentTools;
  readonly #leave: () => void;
  /** When the row is to be read again, on the clock of `performance`. */
  #lookAt = 0;

  constructor(services: FollowServices, scope: Scope, messageId: string) {
    this.#services = services;
    this.#scope = scope;
    this.#messageId = messageId;
    this.#tools = new SentTools(sealedMessage(services.sealer, scope), messageId);
    this.#leave = services.messageEvents.follow(messageId, {
      tenant: scope.tenant,
      onDelta: (delta) => {
        this.#text.accept(delta);
        this.#wake.set();
      },
      onChange: () => {
        this.#lookAt = 0;
        this.#wake.set();
      },
    });
  }

  close(): void {
    this.#leave();
  }

  /** The message as soon as `isFound` is true, or it has ended; undefined if it was removed, or `stop` was aborted. */
  async find(isFound: (message: StoredMessage) => boolean, stop: AbortSignal): Promise<StoredMessage | undefined> {
    while (!stop.aborted) {
      const message = await this.#look();
      if (message === undefined) return undefined;
      if (message !== 'later' && (message.status !== 'processing' || isFound(message))) {
        this.#lookAt = 0;
        return message;
      }
      await this.#sleep(stop);
    }
    return undefined;
  }

  /** What happens until the message has ended, or `stop` is aborted. */
  async *events(stop: AbortSignal): AsyncGenerator<ReplyEvent> {
    while (!stop.aborted) {
      if (this.#text.isContradicted) return yield { name: 'contradicted' };
      const message = this.#isDue() ? await this.#look() : 'later';
      if (message === undefined) return yield { name: 'ended', message };
      if (message !== 'later' && message.status !== 'processing') return yield* this.#rest(message);
      if (message !== 'later' && message.hasTools) yield* this.#toolsSoFar();
      if (this.#text.hasWaiting) yield { name: 'delta', text: this.#text.take() };
      await this.#sleep(stop);
    }
  }

  #isDue(): boolean {
    return performance.now() >= this.#lookAt;
  }

  /** `later` while the database is unavailable. */
  async #look(): Promise<StoredMessage | undefined | 'later'> {
    this.#lookAt = performance.now() + lookEveryMs;
    return readPatiently(() => findMessage(this.#services.sealer, this.#scope, this.#messageId), 'later');
  }

  #sleep(stop: AbortSignal): Promise<void> {
    return this.#wake.wait(Math.max(0, this.#lookAt - performance.now()), stop);
  }

  async *#toolsSoFar(): AsyncGenerator<ReplyEvent> {
    const { round, position } = this.#tools.next;
    const entries = await readPatiently(
      () => this.#scope.rows(findEntries, { messageId: this.#messageId, round, position }),
      'later',
    );
    if (entries !== 'later') yield* this.#tools.read(entries);
  }

  *#rest(message: StoredMessage): Generator<ReplyEvent> {
    yield* this.#tools.readRest(message);
    if (message.reply) {
      const text = this.#text.takeRest(message.reply.content);
      if (text === undefined) return yield { name: 'contradicted' };
      if (text !== '') yield { name: 'delta', text };
    }
    yield { name: 'ended', message };
  }
}
