import { hash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import type { EnvironmentKey } from '../platform/security/tenant-key.ts';
import { AddressLimiter } from './address-limiter.ts';
import type { CountedWindow, WindowCounter } from './windows/window-counter.ts';

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
/** Bookings in an hour that are made there for one e-mail address, which gets mail of each. */
const bookingsOfAttendeePerHour = 5;
/** Moves of one booking in an hour from its page. Each is mailed to the attendee and to the host. */
const movesPerHour = 5;
const hourSeconds = 3_600;

/** Who books on a public page, and with whom. */
interface Visitor {
  address: string;
  email: string;
  environmentKey: EnvironmentKey;
}

const windowOf = (limit: string, of: string, max: number): CountedWindow => ({ limit, of, max, seconds: hourSeconds });

/** Counts requests by address and family, in this process, and bookings with their moves. */
export class AddressLimits {
  readonly #limiters: ReadonlyMap<AddressFamily, AddressLimiter>;
  /** Undefined where there is no limit. */
  readonly #counter: WindowCounter | undefined;

  /**
   * @param max requests a minute, in place of every family's own; 0 turns all limits off, those on bookings too
   * @param counter counts bookings and moves, of which all processes together allow so many
   */
  constructor(max: number | undefined, counter: WindowCounter) {
    const limited = max === 0 ? [] : names;
    this.#limiters = new Map(
      limited.map((name) => [name, new AddressLimiter(max ?? addressFamilies[name].perMinute, windowSeconds)]),
    );
    this.#counter = max === 0 ? undefined : counter;
  }

  /**
   * Counts a booking on a public page while it is being made. A refused booking does not count, and neither does one that
   * had been made before. @throws AppError rate_limit_exceeded
   */
  countBooking<Result extends { replayed: boolean }>(
    { address, email, environmentKey }: Visitor,
    book: () => Promise<Result>,
  ): Promise<Result> {
    const attendee = hash('sha256', `${environmentKey} ${email.trim().toLowerCase()}`, 'base64');
    const windows = [
      windowOf('bookings', address, bookingsPerHour),
      windowOf('bookings:attendee', attendee, bookingsOfAttendeePerHour),
    ];
    const words = 'Too many bookings were made within an hour. Try again later.';
    return this.#count(windows, words, book, ({ replayed }) => !replayed);
  }

  /** Counts a move of a booking from its page; a refused one does not count. @throws AppError rate_limit_exceeded */
  countMove<Result>(bookingId: string, move: () => Promise<Result>): Promise<Result> {
    const words = 'The booking was moved too often within an hour. Try again later.';
    return this.#count([windowOf('moves', bookingId, movesPerHour)], words, move, () => true);
  }

  /** Counts a request. @throws AppError rate_limit_exceeded */
  take(family: AddressFamily, address: string): void {
    this.#limiters.get(family)?.take(address);
  }

  /** The refusal of a further request, without counting one. */
  refusal(family: AddressFamily, address: string): AppError | undefined {
    return this.#limiters.get(family)?.refusal(address);
  }

  async #count<Result>(
    windows: readonly CountedWindow[],
    words: string,
    work: () => Promise<Result>,
    isCounted: (result: Result) => boolean,
  ): Promise<Result> {
    const counted = await this.#counter?.take(windows);
    if (counted?.refusal) {
      const { kind, facts, retryAfter } = counted.refusal;
      throw new AppError(kind, words, facts, { retryAfter: retryAfter! });
    }
    let keep = false;
    try {
      const result = await work();
      keep = isCounted(result);
      return result;
    } finally {
      if (!keep) await counted?.giveBack();
    }
  }
}
