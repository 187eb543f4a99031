import type { AppError } from '../platform/errors.ts';
import { AddressLimiter } from './address-limiter.ts';
import type { WindowCounter } from './windows/window-counter.ts';

/**
 * Maximum requests a minute of one address without authentication, by family of paths. Each family has a window of its
 * own. A path belongs to the family whose prefix it begins with.
 */
const addressFamilies = {
  pages: { perMinute: 120, prefixes: ['/b/', '/a/', '/api/auth/', '/sandbox/meet/'] },
  booking: { perMinute: 300, prefixes: ['/book/'] },
  vitals: { perMinute: 120, prefixes: [] },
  /** Requests to the endpoints of providers that prove nothing. */
  unproven: { perMinute: 120, prefixes: [] },
} as const satisfies Record<string, { perMinute: number; prefixes: readonly string[] }>;

export type AddressFamily = keyof typeof addressFamilies;

/** Families whose answers are pages that must not be cached or indexed. */
export const familiesOfPages: ReadonlySet<AddressFamily> = new Set<AddressFamily>(['pages', 'booking']);

const names = Object.keys(addressFamilies) as AddressFamily[];
const byPrefix = names.flatMap((name) => addressFamilies[name].prefixes.map((prefix) => ({ name, prefix })));

/** The family of a path; undefined where an address has no limit. */
export const familyOf = (path: string): AddressFamily | undefined =>
  byPrefix.find(({ prefix }) => path.startsWith(prefix))?.name;

/** Where limits of addresses apply: for `use` of a router. */
export const limitedPrefixes: readonly string[] = byPrefix.map(({ prefix }) => prefix);

const windowSeconds = 60;

/** Bookings that one address may make on public pages in an hour. */
const bookingsPerHour = 20;
const hourSeconds = 3_600;

/** Counts requests by address and family, in this process, and bookings. */
export class AddressLimits {
  readonly #limiters: ReadonlyMap<AddressFamily, AddressLimiter>;
  /** Undefined where there is no limit. */
  readonly #counter: WindowCounter | undefined;

  /**
   * @param max requests a minute, in place of every family's own; 0 turns all limits off, that on bookings too
   * @param counter counts bookings, of which all processes together allow so many
   */
  constructor(max: number | undefined, counter: WindowCounter) {
    const limited = max === 0 ? [] : names;
    this.#limiters = new Map(
      limited.map((name) => [name, new AddressLimiter(max ?? addressFamilies[name].perMinute, windowSeconds)]),
    );
    this.#counter = max === 0 ? undefined : counter;
  }

  /**
   * Counts a booking on a public page while it is being made. A refused booking does not count. @throws AppError
   * rate_limit_exceeded
   */
  async countBooking<Result>(address: string, book: () => Promise<Result>): Promise<Result> {
    const window = { limit: 'bookings', of: address, max: bookingsPerHour, seconds: hourSeconds };
    const counted = await this.#counter?.take([window]);
    if (counted?.refusal) throw counted.refusal;
    try {
      return await book();
    } catch (error) {
      await counted?.giveBack();
      throw error;
    }
  }

  /** Counts a request. @throws AppError rate_limit_exceeded */
  take(family: AddressFamily, address: string): void {
    this.#limiters.get(family)?.take(address);
  }

  /** The refusal of a further request, without counting one. */
  refusal(family: AddressFamily, address: string): AppError | undefined {
    return this.#limiters.get(family)?.refusal(address);
  }
}
