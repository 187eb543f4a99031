import { Bell } from '../platform/bell.ts';
import type { Sealer } from '../platform/crypto.ts';
import { readPatiently } from '../platform/database-errors.ts';
import type { Scope } from '../platform/scope.ts';
import { turnContents } from './contents.ts';
import { findEntries } from './open-turn.ts';
import { SentText } from './sent-text.ts';
import { SentTools, type ToolEvent } from './sent-tools.ts';
import type { TurnSigns } from './turn-signs.ts';
import { findTurn, type Turn } from './turns.ts';

export interface FollowServices {
  sealer: Sealer;
  turnSigns: TurnSigns;
}

/** An event of a turn, for its reader. `contradicted` and `ended` are the last ones. */
export type TurnEvent =
  | ToolEvent
  | { name: 'delta'; text: string }
  /** The model began again and wrote something that differs from what was sent. */
  | { name: 'contradicted' }
  /** Undefined: it was removed. */
  | { name: 'ended'; turn: Turn | undefined };

/** How often the row is read without a notification, because one can be lost. */
const lookEveryMs = 2_000;

/** One reader of a turn. From its creation on it misses nothing, so that a turn may end before it is read. */
export class TurnReader {
  readonly #services: FollowServices;
  readonly #scope: Scope;
  readonly #turnId: string;
  readonly #bell = new Bell();
  readonly #text = new SentText();
  readonly #tools: SentTools;
  readonly #leave: () => void;
  /** When the row is to be read again, on the clock of `performance`. */
  #lookAt = 0;

  constructor(services: FollowServices, scope: Scope, turnId: string) {
    this.#services = services;
    this.#scope = scope;
    this.#turnId = turnId;
    this.#tools = new SentTools(turnContents(services.sealer, scope), turnId);
    this.#leave = services.turnSigns.follow(turnId, {
      tenant: scope.tenant,
      onDelta: (delta) => {
        this.#text.accept(delta);
        this.#bell.ring();
      },
      onChange: () => {
        this.#lookAt = 0;
        this.#bell.ring();
      },
    });
  }

  close(): void {
    this.#leave();
  }

  /** The turn once `isFound` says so, or it has ended; undefined when it was removed, or `stop` was aborted. */
  async find(isFound: (turn: Turn) => boolean, stop: AbortSignal): Promise<Turn | undefined> {
    while (!stop.aborted) {
      const turn = await this.#look();
      if (turn === undefined) return undefined;
      if (turn !== 'later' && (turn.status !== 'processing' || isFound(turn))) {
        this.#lookAt = 0;
        return turn;
      }
      await this.#sleep(stop);
    }
    return undefined;
  }

  /** What happens until the turn has ended, or `stop` is aborted. */
  async *events(stop: AbortSignal): AsyncGenerator<TurnEvent> {
    while (!stop.aborted) {
      if (this.#text.isContradicted) return yield { name: 'contradicted' };
      const turn = this.#isDue() ? await this.#look() : 'later';
      if (turn === undefined) return yield { name: 'ended', turn };
      if (turn !== 'later' && turn.status !== 'processing') return yield* this.#rest(turn);
      if (turn !== 'later' && turn.hasTools) yield* this.#toolsSoFar();
      if (this.#text.hasWaiting) yield { name: 'delta', text: this.#text.take() };
      await this.#sleep(stop);
    }
  }

  #isDue(): boolean {
    return performance.now() >= this.#lookAt;
  }

  /** `later` while the database is unavailable. */
  async #look(): Promise<Turn | undefined | 'later'> {
    this.#lookAt = performance.now() + lookEveryMs;
    return readPatiently(() => findTurn(this.#services.sealer, this.#scope, this.#turnId), 'later');
  }

  #sleep(stop: AbortSignal): Promise<void> {
    return this.#bell.heard(Math.max(0, this.#lookAt - performance.now()), stop);
  }

  async *#toolsSoFar(): AsyncGenerator<TurnEvent> {
    const { round, position } = this.#tools.next;
    const entries = await readPatiently(() => this.#scope.rows(findEntries, this.#turnId, round, position), 'later');
    if (entries !== 'later') yield* this.#tools.read(entries);
  }

  *#rest(turn: Turn): Generator<TurnEvent> {
    yield* this.#tools.readRest(turn);
    if (turn.reply) {
      const text = this.#text.takeRest(turn.reply.content);
      if (text === undefined) return yield { name: 'contradicted' };
      if (text !== '') yield { name: 'delta', text };
    }
    yield { name: 'ended', turn };
  }
}
