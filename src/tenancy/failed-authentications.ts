import { KeyedSemaphore } from '../platform/concurrency/keyed-semaphore.ts';
import { AddressLimiter } from './address-limiter.ts';

/** Runs a look-up of credentials in the database, unless its caller must wait. @throws AppError rate_limit_exceeded */
export type LimitLookUp = <Found>(find: () => Promise<Found>) => Promise<Found>;

const maxPerMinute = 100;
/** Look-ups of one range of addresses that wait. */
const maxWaiting = 8;

/** Counts failed authentications by range of network addresses, and limits what a range over its limit costs. */
export class FailedAuthentications extends AddressLimiter {
  readonly #lookUps = new KeyedSemaphore(1, maxWaiting);

  constructor(now?: () => number) {
    super(maxPerMinute, 60, now);
  }

  /**
   * Looks credentials up. Valid ones are accepted from a range over its limit too, but it has one look-up at a time and
   * a short queue: random credentials, each of which is looked up, must not take the connections of all.
   * @throws AppError rate_limit_exceeded when the queue is full; what `find` throws
   */
  async lookUp<Found>(range: string, find: () => Promise<Found>): Promise<Found> {
    const refusal = this.refusal(range);
    if (!refusal) return find();
    if (!this.#lookUps.canEnqueue(range)) throw refusal;
    return this.#lookUps.run(range, find);
  }
}
